// Two agents of NIXL, in a process each, over its UCX plugin: blocks are written to the other's
// memory and read back, and both sides compare each byte. Usage: nixl server|client FOLDER.
// At the end they wait for FOLDER/counted, so that their counters can be read.
#include <nixl.h>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

static const struct {
	size_t size, count;
} cases[] = {{1, 1}, {8, 64}, {4099, 200}, {65536, 64}, {1 << 20, 7}, {8 << 20, 1}};
static const size_t room = 8 << 20;

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "nixl: %s\n", what);
	exit(1);
}

static void done(nixl_status_t status, const char *what)
{
	if (status != NIXL_SUCCESS)
		fprintf(stderr, "nixl: %s\n", nixlEnumStrings::statusStr(status).c_str());
	must(status == NIXL_SUCCESS, what);
}

static void until(const std::function<bool()> &is_so, const char *what)
{
	for (int i = 0; i < 60000; i++) {
		if (is_so())
			return;
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	}
	must(false, what);
}

static unsigned char pattern(size_t round, size_t i)
{
	return (unsigned char)(1 + (i * 7 + (i >> 8) * 3 + (i >> 16) + round * 31) % 255);
}

static std::string read_all(const std::string &name)
{
	std::ifstream f(name, std::ios::binary);
	std::stringstream s;
	s << f.rdbuf();
	return s.str();
}

// whole or not at all: the other side looks until it is there
static void write_all(const std::string &name, const std::string &text)
{
	std::ofstream(name + ".new", std::ios::binary) << text;
	must(!rename((name + ".new").c_str(), name.c_str()), "rename");
}

class side
{
      public:
	side(std::string me, std::string other, std::string folder)
	    : me(me), other(other), folder(folder), agent(me, nixlAgentConfig(true)), sent(room),
	      got(room)
	{
		nixlBackendH *ucx = nullptr;
		done(agent.createBackend("UCX", {}, ucx), "the UCX plugin has no backend");
		with.backends.push_back(ucx);
		nixl_reg_dlist_t all(DRAM_SEG);
		for (auto *v : {&sent, &got})
			all.addDesc(nixlBlobDesc((uintptr_t)v->data(), room, 0, ""));
		done(agent.registerMem(all, &with), "memory is not registered");
	}

	// what each has to know of the other: its metadata, and where its memory is
	void meet()
	{
		nixl_blob_t mine;
		done(agent.getLocalMD(mine), "no metadata");
		write_all(folder + "/" + me + ".at", std::to_string((uintptr_t)got.data()));
		write_all(folder + "/" + me + ".md", mine);
		std::string theirs, name;
		until([&] { return !(theirs = read_all(folder + "/" + other + ".md")).empty(); },
		      "the other side does not come");
		done(agent.loadRemoteMD(theirs, name), "the other's metadata");
		must(name == other, "the other has another name");
		far = std::stoull(read_all(folder + "/" + other + ".at"));
	}

	// `count` blocks, the first one here being the last one there
	void move(nixl_xfer_op_t op, std::vector<unsigned char> &here, size_t size, size_t count,
		  const std::string &note)
	{
		nixl_xfer_dlist_t a(DRAM_SEG), b(DRAM_SEG);
		for (size_t i = 0; i < count; i++) {
			a.addDesc(nixlBasicDesc((uintptr_t)here.data() + i * size, size, 0));
			b.addDesc(nixlBasicDesc(far + (count - 1 - i) * size, size, 0));
		}
		nixl_opt_args_t how = with;
		if (!note.empty())
			how.notif = note;
		nixlXferReqH *req = nullptr;
		done(agent.createXferReq(op, a, b, other, req, &how), "no request");
		nixl_status_t status = agent.postXferReq(req, &how);
		until([&] { return (status = agent.getXferStatus(req)) != NIXL_IN_PROG; },
		      "a transfer does not end");
		done(status, "a transfer");
		done(agent.releaseXferReq(req), "a request is not released");
	}

	std::string told()
	{
		nixl_notifs_t news;
		until(
			[&] {
				done(agent.getNotifs(news, &with), "notifications");
				return !news[other].empty();
			},
			"the other side tells nothing");
		must(news[other].size() == 1, "more than one notification");
		return news[other][0];
	}

	void tell(const std::string &what)
	{
		done(agent.genNotif(other, what, &with), "a notification");
	}

	std::string me, other, folder;
	nixlAgent agent;
	nixl_opt_args_t with;
	std::vector<unsigned char> sent, got;
	uintptr_t far = 0;
};

int main(int, char **argv)
{
	const bool server = !strcmp(argv[1], "server");
	side s(server ? "server" : "client", server ? "client" : "server", argv[2]);
	size_t round = 0, bytes = 0;

	s.meet();
	for (auto [size, count] : cases) {
		const size_t all = size * count, last = count - 1;
		const std::string name = "round " + std::to_string(round);
		if (server) {
			must(s.told() == name, "a notification of another round");
			for (size_t i = 0; i < room; i++) {
				const size_t from = (last - i / size) * size + i % size;
				must(s.got[i] == (i < all ? pattern(round, from) : 0),
				     "what was written is not there");
			}
			s.tell(name);
			must(s.told() == name + " read", "a notification of another round");
			std::fill(s.got.begin(), s.got.end(), 0);
			s.tell(name);
		} else {
			for (size_t i = 0; i < all; i++)
				s.sent[i] = pattern(round, i);
			s.move(NIXL_WRITE, s.sent, size, count, name);
			must(s.told() == name, "an answer of another round");
			std::fill(s.got.begin(), s.got.end(), 0);
			s.move(NIXL_READ, s.got, size, count, name + " read");
			must(!memcmp(s.got.data(), s.sent.data(), all), "what was read differs");
			must(s.told() == name, "an answer of another round");
		}
		round++;
		bytes += 2 * all;
	}
	if (!server)
		write_all(s.folder + "/moved", "");
	until([&] { return !access((s.folder + "/counted").c_str(), F_OK); },
	      "nobody looks at the counters");
	printf("nixl: %zu rounds, %zu bytes written, read and compared\n", round, bytes);
	return 0;
}
