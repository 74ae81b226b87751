// All-reduces of libgloo over its ibverbs transport, each element checked. Usage: gloo RANK FOLDER
// DEVICE
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/ibverbs/device.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

int main(int, char **argv)
{
	const int rank = atoi(argv[1]), size = 2;
	gloo::transport::ibverbs::attr attr;
	attr.name = argv[3];
	attr.port = 1;
	attr.index = 0;
	auto device = gloo::transport::ibverbs::CreateDevice(attr);
	gloo::rendezvous::FileStore files(argv[2]);
	long wrong = 0, values = 0;

	for (int n : {1, 1000, 65536, 1 << 20}) {
		auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
		gloo::rendezvous::PrefixStore store(std::to_string(n), files);
		context->connectFullMesh(store, device);
		std::vector<int> v(n);
		std::vector<int *> p{v.data()};
		gloo::AllreduceRingChunked<int> all(context, p, n);
		for (int round = 0; round < 5; round++) {
			for (int i = 0; i < n; i++)
				v[i] = i * (rank + 1) + round;
			all.run();
			for (int i = 0; i < n; i++)
				wrong += v[i] != i * 3 + 2 * round;
			values += n;
		}
		// its buffers may not go while a send has no completion yet, which it does not wait
		// for
		std::this_thread::sleep_for(std::chrono::milliseconds(100));
	}
	printf("gloo: %ld values, %ld wrong\n", values, wrong);
	return wrong != 0;
}
