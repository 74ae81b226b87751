/* --set PATH=VALUE, of every command that takes it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "cli/cli.h"

int rs_cli_setting(struct rs_cli_settings *s, char *text, struct rs_error *e)
{
	char *eq = strchr(text, '='), *name;

	if (!eq || eq == text)
		return rs_error_set(e, -EINVAL, "--set takes PATH=VALUE, not '%s'", text);
	if (s->n == RS_CLI_SETTINGS)
		return rs_error_set(e, -EINVAL, "at most %d --set", RS_CLI_SETTINGS);
	*eq = '\0';
	name = s->name[s->n];
	if (snprintf(name, RS_CLI_SETTING_NAME, "--set %s", text) >= RS_CLI_SETTING_NAME)
		memcpy(name + RS_CLI_SETTING_NAME - 4, "...", 4);
	s->set[s->n++] = (struct rs_setting){text, eq + 1, {name, 0, 0}};
	return 0;
}
