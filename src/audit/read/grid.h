/*
 * Private to audit/: what switches show, of any vendor, by its form alone: tables by the names of
 * their columns, "key: value" lines, counts with a name behind them ("0 runts, 12 CRC"), trees of
 * braces, members of bundles ("Eth1/2(s)"), documents of JSON, and records of logs (event.h). The
 * vocabulary of terms.h judges each value. Outputs of hosts are not looked at: a text counts as a
 * switch's where a command (show, display, nv show, info) or the name of a switch port begins it.
 * Configurations are left to their own readers.
 */
#ifndef RS_AUDIT_READ_GRID_H
#define RS_AUDIT_READ_GRID_H

#include "audit/read/reader.h"

/* Takes what the vocabulary knows of a segment; how many facts. a->err. */
uint32_t rs_grid_read(struct rs_audit *a, const struct rs_input *in);

/* Is the command a program of SONiC's for the switch's own parts, or for its databases? */
bool rs_grid_tool(const char *command);

/* Is this a port of a switch by its name: "Ethernet0", "Et1/1", "et-0/0/1:2", "400GE1/0/1", "swp1",
 * "HundredGigE0/0/0/1"? bare: "1/1/1" is one, too. */
bool rs_grid_port(const char *word, bool bare);

/* The same of a text that begins with a document of JSON. shown: by its command it is a switch's;
 * else a port's name among its keys tells. */
uint32_t rs_grid_read_json(struct rs_audit *a, const struct rs_input *in, bool shown);

/* The same of XML; an answer of NETCONF is a switch's, too. */
uint32_t rs_grid_read_xml(struct rs_audit *a, const struct rs_input *in, bool shown);

/* Takes the lines of a diff of two configurations that name what RoCE needs; how many facts. */
uint32_t rs_config_diff_read(struct rs_audit *a, const struct rs_input *in);

/* Ports that carry no RoCE: management, loopbacks, VLANs. */
bool rs_grid_aside(const char *port);

/* The key of a row of a list of alarms; NULL: it names no severity, or says nothing grave. */
const char *rs_grid_alarm(const char *text);

#endif
