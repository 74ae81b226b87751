/* Private to audit/: what is secret in texts that facts, reports and snapshots quote. */
#ifndef RS_AUDIT_READ_SECRETS_H
#define RS_AUDIT_READ_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

/* Does a variable or parameter of this name hold a secret? "MY_TOKEN", "rd.luks.key". */
bool rs_secrets_name(const char *name, size_t n);

/* Stars in place of secret values among words of "name=value", and of "user:password" in URLs. */
void rs_secrets_hide(char *text);

#endif
