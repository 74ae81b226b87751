// A client of the server that brpc has as an example (rdma_performance), over RDMA: attachments of
// several sizes come back, and each byte is compared. Usage: brpc HOST:PORT FOLDER
// --rdma_device=NAME At the end it waits for FOLDER/counted, so that its counters can be read.
#include <brpc/channel.h>
#include <brpc/rdma/rdma_helper.h>
#include <gflags/gflags.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "test.pb.h"

static const struct {
	size_t size;
	int at_once, rounds;
} cases[] = {{1, 1, 50}, {511, 8, 20}, {4096, 16, 20}, {65537, 8, 10}, {1 << 20, 4, 8}};

struct call {
	brpc::Controller cntl;
	test::PerfTestRequest request;
	test::PerfTestResponse response;
	std::string sent;
};

int main(int argc, char **argv)
{
	GFLAGS_NAMESPACE::ParseCommandLineFlags(&argc, &argv, true);
	const std::string folder = argv[2];
	brpc::rdma::GlobalRdmaInitializeOrDie();
	brpc::ChannelOptions options;
	options.socket_mode = brpc::SOCKET_MODE_RDMA;
	options.connect_timeout_ms = options.timeout_ms = 30000;
	options.max_retry = 0;
	brpc::Channel channel;
	if (channel.Init(argv[1], &options)) {
		fprintf(stderr, "brpc: no channel\n");
		return 1;
	}
	test::PerfTestService_Stub stub(&channel);
	unsigned random = 1;
	long calls = 0, bytes = 0;

	for (auto c : cases) {
		for (int round = 0; round < c.rounds; round++) {
			std::vector<std::unique_ptr<call>> all;
			for (int i = 0; i < c.at_once; i++) {
				all.emplace_back(new call);
				call &k = *all.back();
				for (size_t b = 0; b < c.size; b++)
					k.sent += (char)((random = random * 1103515245 + 12345) >>
							 16);
				k.request.set_echo_attachment(true);
				k.cntl.request_attachment().append(k.sent);
				stub.Test(&k.cntl, &k.request, &k.response, brpc::DoNothing());
			}
			for (auto &k : all) {
				brpc::Join(k->cntl.call_id());
				if (k->cntl.Failed()) {
					fprintf(stderr, "brpc: %zu bytes: %s\n", c.size,
						k->cntl.ErrorText().c_str());
					return 1;
				}
				if (!k->cntl.response_attachment().equals(k->sent)) {
					fprintf(stderr, "brpc: %zu bytes came back changed\n",
						c.size);
					return 1;
				}
				calls++;
				bytes += (long)c.size;
			}
		}
	}
	std::ofstream(folder + "/moved");
	for (int i = 0; i < 60000 && access((folder + "/counted").c_str(), F_OK); i++)
		usleep(1000);
	printf("brpc: %ld calls, %ld bytes sent, returned and compared\n", calls, bytes);
	return 0;
}
