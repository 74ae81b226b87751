/* Whose switch an output is of that no reader takes: the names of its models and of its system. It
 * is no fact that a check judges: it tells which command to ask for next. */
#include <stdlib.h>
#include <string.h>
#include "audit/read/maker.h"

enum { LINES = 400 };

static const struct {
	const char *mark, *os;
} marks[] = {
	{"N7K-", "NX-OS"},       {"N9K-", "NX-OS"},      {"N5K-", "NX-OS"},
	{"N3K-", "NX-OS"},       {"NX-OS", "NX-OS"},     {"Nexus", "NX-OS"},
	{"DCS-7", "EOS"},        {"Arista", "EOS"},      {"JUNOS", "Junos"},
	{"QFX5", "Junos"},       {"QFX1", "Junos"},      {"qfx5", "Junos"},
	{"SONiC", "SONiC"},      {"sonic", "SONiC"},     {"Cumulus", "Cumulus"},
	{"cumulus@", "Cumulus"}, {"OS10 ", "OS10"},      {"SmartFabric", "OS10"},
	{"MLNX-OS", "Onyx"},     {"Onyx", "Onyx"},       {"MQM", "Onyx"},
	{"CloudEngine", "VRP"},  {"CE68", "VRP"},        {"Versatile Routing Platform", "VRP"},
	{"CE88", "VRP"},         {"Comware", "Comware"}, {"IOS XR", "IOS XR"},
	{"IOS-XR", "IOS XR"},    {"NCS-5", "IOS XR"},
};

/* A row of a table or a prompt; where nobody wrote sentences, any line. */
static bool is_output(const char *text, bool prose)
{
	return !prose || strstr(text, "  ") || strstr(text, "# show ") || strstr(text, "#show ") ||
	       strstr(text, "> show ") || strstr(text, ">display ");
}

static bool is_sentence(const char *text)
{
	enum { WORDS = 9, MANY = 14 };
	unsigned n = 0;

	if (strstr(text, "  "))
		return false;
	for (const char *p = text; (p = strchr(p, ' ')); p++)
		n++;
	return n >= MANY || (n >= WORDS && strchr(".?!,", text[strlen(text) - 1]));
}

/* Did somebody write sentences here? */
static bool has_prose(const struct rs_input *in, struct rs_line *l)
{
	bool prose = false;

	while (!prose && rs_line_next(in, l) && l->number < LINES)
		prose = is_sentence(l->text);
	*l = (struct rs_line){.number = 0};
	return prose;
}

uint32_t rs_maker_read(struct rs_audit *a, const struct rs_input *in)
{
	uint32_t before = rs_facts_count(a->facts);
	struct rs_line *l = calloc(1, sizeof(*l));
	bool prose;

	if (!l)
		return 0;
	prose = has_prose(in, l);
	while (rs_line_next(in, l) && l->number < LINES) {
		for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
			if (!strstr(l->text, marks[i].mark) || !is_output(l->text, prose))
				continue;
			rs_input_add(a, in, 0, NULL, "host", "maker", "%s", marks[i].os);
			free(l);
			return rs_facts_count(a->facts) - before;
		}
	}
	free(l);
	return 0;
}
