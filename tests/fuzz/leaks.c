/* libfyaml 0.7.12 and hwloc 2.9 keep some memory when they refuse a text: theirs, once a file, and
 * not what is looked for here. LeakSanitizer asks this function (its run-time's interface). */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libfyaml\nleak:libhwloc\n";
}
