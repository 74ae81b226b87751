/* Files of third parties, which are not in the tree: RIPSTOP_DATA names the folder where they lie.
 */
#ifndef RS_TESTS_ELSEWHERE_H
#define RS_TESTS_ELSEWHERE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The full path of a file or folder of theirs. false, and a line that says what is left out, where
 * it is not there: the test then skips. */
static inline bool elsewhere(const char *path, char *full, size_t size)
{
	const char *data = getenv("RIPSTOP_DATA");

	if (!data || !*data) {
		printf("RIPSTOP_DATA is not set: %s is not tried\n", path);
		return false;
	}
	snprintf(full, size, "%s/%s", data, path);
	if (!access(full, R_OK))
		return true;
	printf("%s is not there: it is not tried\n", full);
	return false;
}

#endif
