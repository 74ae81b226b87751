/* Rows of messages found by the name of a fact. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/facts/message.h"
#include "audit/facts/message_rows.h"

const struct rs_message *rs_message_row(uint32_t row)
{
	static const struct rs_message_part *const parts[] = {
		&rs_messages_signs,  &rs_messages_gpu,        &rs_messages_device,
		&rs_messages_job,    &rs_messages_verbs,      &rs_messages_port,
		&rs_messages_kernel, &rs_messages_kubernetes, &rs_messages_switch,
		&rs_messages_host,   &rs_messages_shown,      &rs_messages_state,
		&rs_messages_vendor,
	};

	for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (row < parts[i]->n)
			return parts[i]->row + row;
		row -= parts[i]->n;
	}
	return NULL;
}

const struct rs_message *rs_message_find(const char *name)
{
	size_t n = strcspn(name, "/");
	int number = name[n] ? atoi(name + n + 1) : 0;
	const struct rs_message *any = NULL, *m;

	for (uint32_t row = 0; (m = rs_message_row(row)); row++) {
		if (strncmp(m->key, name, n) || m->key[n])
			continue;
		if (m->errno_is == number)
			return m;
		if (!m->errno_is)
			any = m;
	}
	return any;
}

bool rs_message_but(const struct rs_message *m, const char *text)
{
	char word[64];

	for (const char *but = m->but; but && *but; but += strcspn(but, "|"), but += *but == '|') {
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(but, "|"), but);
		if (*word && strcasestr(text, word))
			return true;
	}
	return false;
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
