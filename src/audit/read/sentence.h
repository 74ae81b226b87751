/* Private to audit/: sentences of people, and what they say of a failure. All take a line in lower
 * case. */
#ifndef RS_AUDIT_READ_SENTENCE_H
#define RS_AUDIT_READ_SENTENCE_H

#include <stdbool.h>

/* A person's sentence: words that programs leave out. */
bool rs_sentence_is(const char *low);
/* What a manual says of any machine: a condition, a permission, a purpose. It happened nowhere. */
bool rs_sentence_general(const char *low);
/* A person complains, of networks, accelerators or their parts: "RDMA is slow since then". */
bool rs_sentence_complains(const char *low);

#endif
