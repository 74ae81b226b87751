/*
 * Ripstop as ASTRA-sim's network: its AstraNetworkAPI over libripstop's sessions, and a program
 * that takes the options of its analytical backends, so that one may be run in place of the other.
 * docs/astra-sim.md says how it is built and what each answer means.
 *
 * NPU i is endpoint i of the fabric. A message is one RDMA WRITE. ASTRA-sim's clock has whole
 * nanoseconds: it is told the time cut down to them, as its ns-3 backend does.
 */
#include <cxxopts/cxxopts.hpp>
#include <json/json.hpp>
#include <remote_memory_backend/analytical/AnalyticalRemoteMemory.hh>
#include <ripstop/session.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "astra-sim/common/AstraNetworkAPI.hh"
#include "astra-sim/common/Logging.hh"
#include "astra-sim/system/Sys.hh"

namespace
{

const int64_t PS_A_NS = 1000;

[[noreturn]] void fail(const std::string &what)
{
	fprintf(stderr, "astra-ripstop: %s\n", what.c_str());
	exit(2);
}

void check(int err, struct ripstop_error *e)
{
	if (err < 0)
		fail(ripstop_error_text(e));
}

/* What ASTRA-sim wants called. */
struct Call {
	void (*function)(void *) = nullptr;
	void *argument = nullptr;

	void operator()() const
	{
		if (function)
			function(argument);
	}
};

using Key = std::tuple<int, int, int, uint64_t>; /* source, destination, tag, bytes */

/* Messages of one key are alike: what arrives first is what is asked for first. */
struct Line {
	uint64_t arrived = 0; /* that are not asked for yet */
	std::deque<Call> asked;
};

struct Message {
	Call sender;
	Key key;
	int news; /* that are still to come: inside hosts either may be the first */
};

/* All NPUs' network: one session. */
class Network
{
      public:
	Network(const std::string &path, const std::vector<std::string> &settings)
	{
		struct ripstop_session_options o = RIPSTOP_INIT(struct ripstop_session_options);
		struct ripstop_fabric_facts facts = RIPSTOP_INIT(struct ripstop_fabric_facts);
		struct ripstop_error *e = nullptr;
		struct ripstop_fabric *f;

		check(ripstop_fabric_load(path.c_str(), &f, &e), e);
		for (const std::string &s : settings) {
			size_t at = s.find('=');

			if (at == std::string::npos)
				fail("--set: expected PATH=VALUE, found '" + s + "'");
			check(ripstop_fabric_set(f, s.substr(0, at).c_str(), s.c_str() + at + 1,
						 &e),
			      e);
		}
		check(ripstop_fabric_check(f, &facts, &e), e);
		endpoints = facts.endpoints;
		o.under_way = 65536;
		check(ripstop_session_new(f, &o, &session, &e), e);
		ripstop_fabric_free(f);
	}
	~Network()
	{
		ripstop_session_free(session);
	}

	int64_t now() const
	{
		return ripstop_session_now(session);
	}

	void schedule(int64_t when, Call call)
	{
		struct ripstop_error *e = nullptr;

		check(ripstop_session_at(session, when, keep(new Call(call)), &e), e);
	}

	void send(const Key &key, Call sender)
	{
		const auto &[source, destination, tag, bytes] = key;
		Message *m = new Message{sender, key, 2};
		struct ripstop_error *e = nullptr;
		struct ripstop_flow flow = {};

		flow.src = (uint32_t)source;
		flow.dst = (uint32_t)destination;
		flow.bytes = bytes ? bytes : 1;
		flow.traffic_class = -1;
		messages++;
		payload += bytes;
		if (source == destination) /* nothing crosses the network */
			check(ripstop_session_at(session, now(), keep(m) | 1, &e), e);
		else
			check(ripstop_session_send(session, &flow, keep(m), &e), e);
	}

	void receive(const Key &key, Call receiver)
	{
		Line &line = lines[key];

		if (!line.arrived) {
			line.asked.push_back(receiver);
			return;
		}
		if (!--line.arrived)
			lines.erase(key);
		schedule(now(), receiver);
	}

	/* Until nothing happens any more. */
	void run()
	{
		struct ripstop_error *e = nullptr;
		struct ripstop_news news;
		int n;

		while ((n = ripstop_session_run(session, RIPSTOP_NEVER, &e)) > 0)
			while (ripstop_session_news(session, &news, 1, sizeof(news)))
				hear(news);
		check(n, e);
	}

	void write_result(const std::string &path)
	{
		struct ripstop_error *e = nullptr;
		struct ripstop_result *r;
		char *text;

		check(ripstop_session_end(session, &r, &e), e);
		check(ripstop_result_json(r, &text, &e), e);
		std::ofstream out(path);
		if (!(out << text) || !out.flush())
			fail(path + ": cannot be written");
		ripstop_free(text);
		ripstop_result_free(r);
	}

	uint32_t endpoints = 0;
	uint64_t messages = 0, payload = 0;

      private:
	/* The lowest bit of a timer's tells a message from a call. */
	static uint64_t keep(void *p)
	{
		return (uint64_t)(uintptr_t)p;
	}

	void arrived(const Key &key)
	{
		Line &line = lines[key];

		if (line.asked.empty()) {
			line.arrived++;
			return;
		}
		Call receiver = line.asked.front();
		line.asked.pop_front();
		if (line.asked.empty())
			lines.erase(key);
		receiver();
	}

	void timer(uint64_t user)
	{
		if (user & 1) {
			std::unique_ptr<Message> m((Message *)(uintptr_t)(user & ~UINT64_C(1)));

			arrived(m->key);
			m->sender();
			return;
		}
		std::unique_ptr<Call> call((Call *)(uintptr_t)user);
		(*call)();
	}

	void hear(const struct ripstop_news &news)
	{
		Message *m = (Message *)(uintptr_t)news.user;

		switch (news.what) {
		case RIPSTOP_NEWS_TIMER:
			timer(news.user);
			break;
		case RIPSTOP_NEWS_DELIVERED:
			arrived(m->key);
			break;
		case RIPSTOP_NEWS_SENT:
			m->sender();
			break;
		default:
			fail("a message of NPU " + std::to_string(std::get<0>(m->key)) + " to " +
			     std::to_string(std::get<1>(m->key)) +
			     " failed: its queue pair ended in error after all retries");
		}
		if (news.what != RIPSTOP_NEWS_TIMER && !--m->news)
			delete m;
	}

	struct ripstop_session *session = nullptr;
	std::map<Key, Line> lines;
};

/* One NPU's. */
class Api : public AstraSim::AstraNetworkAPI
{
      public:
	Api(int npu, Network &n) : AstraNetworkAPI(npu), network(n)
	{
	}

	int sim_send(void *, uint64_t count, int, int dst, int tag, AstraSim::sim_request *,
		     void (*handler)(void *), void *argument) override
	{
		network.send(Key(rank, dst, tag, count), Call{handler, argument});
		return 0;
	}
	int sim_recv(void *, uint64_t count, int, int src, int tag, AstraSim::sim_request *,
		     void (*handler)(void *), void *argument) override
	{
		network.receive(Key(src, rank, tag, count), Call{handler, argument});
		return 0;
	}
	void sim_schedule(AstraSim::timespec_t delta, void (*handler)(void *),
			  void *argument) override
	{
		network.schedule(network.now() + (int64_t)(delta.time_val * PS_A_NS),
				 Call{handler, argument});
	}
	AstraSim::timespec_t sim_get_time() override
	{
		return {AstraSim::NS,
			(decltype(AstraSim::timespec_t::time_val))(network.now() / PS_A_NS)};
	}
	void sim_notify_finished() override
	{
		finished = true;
	}

	bool finished = false;

      private:
	Network &network;
};

/* As the ns-3 backend reads them: {"logical-dims": ["4", "2"]}. Without: all in one. */
std::vector<int> dims_of(const std::string &path, uint32_t endpoints)
{
	std::vector<int> dims;
	std::ifstream in(path);
	long npus = 1;

	if (path.empty())
		return {(int)endpoints};
	try {
		const nlohmann::json j = nlohmann::json::parse(in);

		for (const auto &d : j.at("logical-dims")) {
			dims.push_back(std::stoi(d.get<std::string>()));
			npus *= dims.back() > 0 ? dims.back() : 0;
		}
	} catch (const std::exception &x) {
		fail(path + ": expected {\"logical-dims\": [\"4\", \"2\"]}: " + x.what());
	}
	if (dims.empty() || npus < 1 || npus > (long)endpoints)
		fail(path + ": expected dimensions whose product is 1 to " +
		     std::to_string(endpoints) + ", the fabric's endpoints");
	return dims;
}

/* Some versions take a folder, others a configuration alone. */
template <typename Factory>
auto start_log(const std::string &conf, const std::string &folder, int)
	-> decltype(Factory::init(conf, folder))
{
	Factory::init(conf, folder);
}
template <typename Factory> void start_log(const std::string &conf, const std::string &, long)
{
	Factory::init(conf);
}

cxxopts::ParseResult parse(int argc, char **argv)
{
	cxxopts::Options o(argv[0], "ASTRA-sim over Ripstop");

	for (const char *name :
	     {"workload", "system", "remote-memory", "network", "logical-topology"})
		o.add_options()(std::string(name) + "-configuration", "file",
				cxxopts::value<std::string>()->default_value(""));
	for (const char *name : {"comm-group", "logging"})
		o.add_options()(std::string(name) + "-configuration", "file",
				cxxopts::value<std::string>()->default_value("empty"));
	for (const char *name : {"comm-scale", "injection-scale"})
		o.add_options()(name, "scale", cxxopts::value<double>()->default_value("1"));
	o.add_options()("logging-folder", "log",
			cxxopts::value<std::string>()->default_value("log"));
	o.add_options()("num-queues-per-dim", "queues", cxxopts::value<int>()->default_value("1"));
	o.add_options()("rendezvous-protocol", "rendezvous",
			cxxopts::value<bool>()->default_value("false"));
	o.add_options()("set", "PATH=VALUE of the fabric",
			cxxopts::value<std::vector<std::string>>()->default_value({}));
	o.add_options()("ripstop-json", "file", cxxopts::value<std::string>()->default_value(""));
	try {
		return o.parse(argc, argv);
	} catch (const std::exception &x) {
		fail(x.what());
	}
}

} // namespace

int main(int argc, char **argv)
{
	auto o = parse(argc, argv);
	auto word = [&o](const char *name) { return o[name].as<std::string>(); };
	std::vector<std::string> settings;

	if (o.count("set"))
		settings = o["set"].as<std::vector<std::string>>();
	for (const char *need : {"workload", "system", "remote-memory", "network"})
		if (word((std::string(need) + "-configuration").c_str()).empty())
			fail(std::string("--") + need + "-configuration is needed");
	Network network(word("network-configuration"), settings);
	std::vector<int> dims = dims_of(word("logical-topology-configuration"), network.endpoints);
	std::vector<int> queues(dims.size(), o["num-queues-per-dim"].as<int>());
	std::vector<std::unique_ptr<Api>> npus;
	std::vector<AstraSim::Sys *> systems;
	int n = 1, unfinished = 0;

	start_log<AstraSim::LoggerFactory>(word("logging-configuration"), word("logging-folder"),
					   0);
	Analytical::AnalyticalRemoteMemory memory(word("remote-memory-configuration"));
	for (int d : dims)
		n *= d;
	for (int i = 0; i < n; i++) {
		npus.push_back(std::make_unique<Api>(i, network));
		systems.push_back(new AstraSim::Sys(
			i, word("workload-configuration"), word("comm-group-configuration"),
			word("system-configuration"), &memory, npus.back().get(), dims, queues,
			o["injection-scale"].as<double>(), o["comm-scale"].as<double>(),
			o["rendezvous-protocol"].as<bool>()));
	}
	for (AstraSim::Sys *s : systems)
		s->workload->fire();
	network.run();
	for (const auto &npu : npus)
		unfinished += !npu->finished;
	AstraSim::LoggerFactory::shutdown();
	printf("ripstop: %lld ns, %llu messages, %llu bytes\n",
	       (long long)(network.now() / PS_A_NS), (unsigned long long)network.messages,
	       (unsigned long long)network.payload);
	if (!word("ripstop-json").empty())
		network.write_result(word("ripstop-json"));
	if (unfinished)
		fail(std::to_string(unfinished) + " NPUs have not finished their workload");
	return 0;
}
