/* Rows of messages found by the name of a fact. */
#include <stdlib.h>
#include <string.h>
#include "audit/facts/message.h"

const struct rs_message *rs_message_find(const char *name)
{
	size_t n = strcspn(name, "/");
	int number = name[n] ? atoi(name + n + 1) : 0;
	const struct rs_message *any = NULL;

	for (const struct rs_message *m = rs_messages; m->key; m++) {
		if (strncmp(m->key, name, n) || m->key[n])
			continue;
		if (m->errno_is == number)
			return m;
		if (!m->errno_is)
			any = m;
	}
	return any;
}

bool rs_message_room(struct rs_audit *a, uint32_t row)
{
	if (row >= RS_MESSAGE_ROWS || a->messages[row] >= RS_MESSAGE_LINES)
		return false;
	a->messages[row]++;
	return true;
}

const struct rs_fact *rs_message_fact(const struct rs_audit *a, const char *host, const char *what)
{
	size_t n = strcspn(what, " ");
	char subject[64];
	uint32_t at = 0;

	if (n >= sizeof(subject) || !what[n])
		return NULL;
	memcpy(subject, what, n);
	subject[n] = '\0';
	return rs_facts_next(a->facts, &at, host, subject, what + n + 1);
}
