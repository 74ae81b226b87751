/* Private to cli/: `ripstop switch`, its settings and what it prints. */
#ifndef RS_CLI_SWITCH_H
#define RS_CLI_SWITCH_H

#include "bridge/bridge.h"
#include "cli/cli.h"

enum { SWITCH_PORT_NAME = 64, SWITCH_PORT_OPTIONS = 4096, SWITCH_HARM_OPTIONS = 256 };

/* An interface that an option or operand names; rate 0: not said. */
struct switch_interface {
	char name[16];
	int64_t rate;
};

struct switch_settings {
	struct rs_bridge_config c;
	struct switch_interface interface[RS_BRIDGE_PORTS_MAX]; /* [port]; "": none */
	/* What options say; what they do not is the description's, or a switch's that has none. */
	int64_t rate;
	uint64_t buffer, limit; /* 0: not said */
	uint64_t kmin, kmax;
	double pmax;
	bool ecn_said, ecn, pfc_said, json, show;
	uint8_t lossless;
	int8_t weight[RS_CLASSES], class_of[64]; /* -1: not said */
	int64_t seed;
	struct {
		int option;
		const char *text;
	} harm[SWITCH_HARM_OPTIONS];
	unsigned n_harm;
	const char *as;
	const char *port[SWITCH_PORT_OPTIONS];
	unsigned n_ports;
	struct rs_cli_settings sets;
	/* Of a description; f NULL: the switch stands alone. */
	struct rs_fabric *f;
	struct rs_arena *arena;
	uint32_t sw;
	bool told[RS_BRIDGE_PORTS_MAX];
	enum rs_bridge_cable cable[RS_BRIDGE_PORTS_MAX];
};

/* "INTERFACE" or "INTERFACE=RATE". */
int switch_interface_parse(const char *text, struct switch_interface *out, struct rs_error *e);

/* switch_described.c: the first operand is a description, not an interface. */
bool switch_is_description(const char *operand);
/* Reads it and makes the switch's configuration, before what options say of classes. */
int switch_describe(struct switch_settings *s, const char *file, struct rs_error *e);
/* What each port is plugged into: --port, else an interface that is called SWITCH-pPORT. */
int switch_plug(struct switch_settings *s, struct rs_error *e);
/* "h3", "spine0 port 2"; "" where the switch stands alone. */
const char *switch_leads_to(const struct switch_settings *s, unsigned port,
			    char name[SWITCH_PORT_NAME]);
/* Prints a cable that is not as described; struct rs_bridge_config's callback. */
void switch_cable(void *settings, unsigned port, enum rs_bridge_cable what, uint32_t sw,
		  uint16_t sw_port);

/* switch_harm.c: --drop and its like, once the ports' interfaces are known. */
int switch_harm(struct switch_settings *s, struct rs_error *e);
/* Does any port harm what it takes in? */
bool switch_harms(const struct switch_settings *s);

/* switch_print.c: on standard output. -ENOMEM, -EIO. */
int switch_print(const struct switch_settings *s, struct rs_bridge *b);
/* The switch as it would be, for --show. */
int switch_print_plan(const struct switch_settings *s);

#endif
