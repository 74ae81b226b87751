/* The environment of a job, wherever it is written: NAME=value of a shell, of launchers (-x, -e,
 * --export), of Python, YAML and JSON, Dockerfiles, shell traces, and what people write of it. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "audit/facts/word_list.h"
#include "audit/read/prompt.h"
#include "audit/read/readers.h"

/* Variables that RDMA's libraries and launchers read. */
static const char *const kinds[] = {"NCCL_", "UCX_",  "RCCL_",   "CUDA_",  "FI_",     "GLOO_",
				    "OMPI_", "HSA_",  "NVSHMEM", "TORCH_", "MASTER_", "MC_",
				    "UCC_",  "NIXL_", "RDMAV_",  "IBV_",   "MLX5_"};

static size_t name_length(const char *p)
{
	return strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
}

static bool is_kind(const char *p)
{
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strncmp(p, kinds[i], strlen(kinds[i])))
			return true;
	return false;
}

/* May a name begin behind this byte? "$NCCL_X" and "${NCCL_X}" are uses. */
static bool begins_name(const char *text, const char *p)
{
	if (p == text)
		return true;
	if (p[-1] == '{')
		return p - 1 == text || p[-2] != '$';
	/* helm's "--set env.NCCL_X=1" */
	if (p[-1] == '.')
		return p - text >= 4 && !strncmp(p - 4, "env.", 4);
	/* "-eNCCL_X=1" */
	if (p[-1] == 'e' && p - text >= 2 && p[-2] == '-')
		return true;
	return strchr(" \t,=\"'([;`+<:", p[-1]) != NULL;
}

/* Does "NAME=" stand here? */
static bool is_assignment(const char *p)
{
	size_t n = name_length(p);

	return n && !isdigit((unsigned char)*p) && p[n] == '=';
}

/* Where an unquoted value ends. A list of devices has commas of its own: only one with the next
 * variable behind it ends a value. */
static size_t bare_length(const char *p)
{
	size_t n = strcspn(p, " \t\"';)}`\\");

	for (const char *c = p; (c = memchr(c, ',', (size_t)(p + n - c))); c++)
		if (is_assignment(c + 1) || c + 1 == p + n)
			return (size_t)(c - p);
	return n;
}

/* "mlx5_0, mlx5_1" to the line's end: one value with a blank in it, as env prints it. */
static size_t with_blanks(const char *p, size_t n)
{
	size_t all = n;

	while (all && p[all - 1] != ',' && p[all] == ',')
		all++;
	while (all && p[all - 1] == ',' && p[all] == ' ') {
		size_t blanks = strspn(p + all, " "), word = strcspn(p + all + blanks, " \t");
		const char *next = p + all + blanks;

		if (!word || strspn(next, "abcdefghijklmnopqrstuvwxyz0123456789_:,") != word ||
		    !strpbrk(next, "0123456789"))
			return n;
		all += blanks + word;
	}
	return p[all] ? n : all;
}

/* The value at p, with or without quotes; false: it is none, or another variable's. */
static bool value_at(const char *p, char *out, size_t size)
{
	char quote = *p == '\\' ? p[1] : *p;
	size_t n;

	if (*p == '\\' && (quote == '"' || quote == '\''))
		p++;
	if (quote == '"' || quote == '\'') {
		const char *end = strchr(p + 1, quote);

		if (!end)
			return false;
		n = (size_t)(end - p - 1);
		n -= n && p[n] == '\\';
		p++;
	} else {
		n = with_blanks(p, bare_length(p));
	}
	if (memchr(p, '$', n) || n >= size)
		return false;
	snprintf(out, size, "%.*s", (int)n, p);
	return true;
}

/* "${NCCL_X:-1}" or "${NCCL_X-1}" of NCCL_X itself, with or without quotes: what it is set to where
 * it was not set before. The length of the value at *from; 0: it is none. */
static size_t own_default(const char *p, const char *name, const char **from)
{
	size_t n = strlen(name);
	const char *end;

	p += *p == '"';
	if (strncmp(p, "${", 2) || strncmp(p + 2, name, n))
		return 0;
	p += 2 + n;
	p += *p == ':';
	if (*p != '-')
		return 0;
	end = strchr(++p, '}');
	*from = p;
	return end && !memchr(p, '$', (size_t)(end - p)) ? (size_t)(end - p) : 0;
}

/* Did a line before this one set the variable? */
static bool set_before(const struct rs_input *in, const struct rs_line *l, const char *name)
{
	const char *p = in->data, *end = p + (l->next < in->size ? l->next : in->size);
	const char *now = end;
	size_t n = strlen(name);

	while (now > p && (now == end || now[-1] != '\n'))
		now--;
	while ((p = memmem(p, (size_t)(now - p), name, n))) {
		if (p[n] == '=' && begins_name(in->data, p) && strncmp(p + n + 1, "${", 2) &&
		    strncmp(p + n + 1, "\"${", 3))
			return true;
		p += n;
	}
	return false;
}

/* Does the text export the variable by name? */
static bool exported(const struct rs_input *in, const char *name)
{
	static const char word[] = "export ";
	size_t n = strlen(name);

	for (const char *p = in->data; (p = strstr(p, word)); p++) {
		const char *end = p + strcspn(p, "\n;&");
		const char *at = memmem(p, (size_t)(end - p), name, n);

		if (at && at[-1] == ' ' && name_length(at) == n)
			return true;
	}
	return false;
}

/* ": ${NCCL_X:=1}" of a variable that is exported: set where it was not. The value's length. */
static size_t assigned_default(const char *text, const char *name, const char *p, const char **from)
{
	const char *end;

	if (name - text < 2 || strncmp(name - 2, "${", 2))
		return 0;
	p += *p == ':';
	if (*p != '=' || !(end = strchr(p, '}')))
		return 0;
	*from = p + 1;
	return memchr(p, '$', (size_t)(end - p)) ? 0 : (size_t)(end - p - 1);
}

/* "NCCL_X", "value": "1"; NCCL_X, value: 1: a manifest's pair on one line. Where the value begins,
 * or NULL. */
static const char *paired(const char *p)
{
	p += strspn(p, "\"'");
	p += strspn(p, " \t");
	if (*p++ != ',')
		return NULL;
	p += strspn(p, " \t\"'");
	if (strncmp(p, "value", 5))
		return NULL;
	p += 5 + strspn(p + 5, "\"' \t");
	return *p == ':' ? p + 1 + strspn(p + 1, " \t") : NULL;
}

/* os.getenv("X", "1"), os.environ.get("X", "1"): what a program takes where nothing is set. */
static bool is_default(const char *text, const char *name)
{
	static const char *const before[] = {"getenv(\"", "getenv('", ".get(\"", ".get('"};

	for (unsigned i = 0; i < sizeof(before) / sizeof(*before); i++) {
		size_t n = strlen(before[i]);

		if ((size_t)(name - text) >= n && !strncmp(name - n, before[i], n))
			return true;
	}
	return false;
}

/* "set -x X 1", "set -gx X 1", "set --export X 1" of fish: what stands before the name. */
static bool is_fish(const char *text, const char *name)
{
	const char *p = text;
	bool exports = false;

	for (const char *at = text; (at = strstr(at, "set -")) && at < name; at++)
		if (at == text || strchr(" \t;$#>", at[-1]))
			p = at;
	if (strncmp(p, "set -", 5))
		return false;
	for (p += 4; p < name && *p == '-'; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");

		exports |= p[1] != '-' ? memchr(p, 'x', n) != NULL
				       : n == 8 && !strncmp(p, "--export", n);
		p += n;
	}
	return exports && p == name;
}

/* "${NCCL_X:=1}": a use that sets. */
static bool is_given(const char *text, const char *p)
{
	size_t n = name_length(p);

	return p - text >= 2 && !strncmp(p - 2, "${", 2) &&
	       (p[n] == '=' || !strncmp(p + n, ":=", 2));
}

/* What joins a name and its value: where the value begins, or NULL. text: the line. */
static const char *joined(const char *text, const char *name, const char *p)
{
	static const char *const before[] = {"ENV ", "setenv ", "-genv ", "-env "};
	const char *q = p;

	if (is_given(text, name))
		return NULL;
	if (*p == '=')
		return p + 1;
	if (is_default(text, name))
		return NULL;
	if ((q = paired(p)))
		return q;
	q = p;
	/* os.environ["X"] = "1", {"X": "1"}, setdefault('X', '1'), X: 1 */
	if (*q == '"' || *q == '\'')
		q++;
	if (*q == ']')
		q++;
	q += strspn(q, " \t");
	if ((*q == '=' || *q == ',' || *q == ':') && q > p && (*q != ',' || q[-1] != ' ')) {
		if (*q == ',' && (*p != '"' && *p != '\''))
			return NULL;
		q += 1 + strspn(q + 1, " \t");
		return *q ? q : NULL;
	}
	if (*p == ':' && p[1] == ' ')
		return p + 1 + strspn(p + 1, " \t");
	for (unsigned i = 0; i < sizeof(before) / sizeof(*before); i++) {
		size_t n = strlen(before[i]);

		if ((size_t)(name - text) >= n && !strncasecmp(name - n, before[i], n) &&
		    *p == ' ' && p[1])
			return p + 1 + strspn(p + 1, " ");
	}
	if (*p == ' ' && is_fish(text, name))
		return p + strspn(p, " ");
	return NULL;
}

/* What Apptainer takes off before the name within the container. */
static size_t of_container(const char *p)
{
	static const char *const before[] = {"APPTAINERENV_", "SINGULARITYENV_"};

	for (unsigned i = 0; i < sizeof(before) / sizeof(*before); i++)
		if (!strncmp(p, before[i], strlen(before[i])))
			return strlen(before[i]);
	return 0;
}

unsigned rs_line_variables(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l,
			   bool add)
{
	char name[96], value[1024];
	unsigned found = 0;

	for (const char *p = l->text; *p; p++) {
		size_t n = isupper((unsigned char)*p) ? name_length(p) : 0, m;
		size_t within = n ? of_container(p) : 0;
		const char *at, *from = NULL, *own = p + within;

		if (!n)
			continue;
		if (!is_kind(own) || n - within >= sizeof(name) ||
		    !(begins_name(l->text, p) || is_given(l->text, p))) {
			p += n - 1;
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)(n - within), own);
		at = joined(l->text, p, p + n);
		m = at ? own_default(at, name, &from) : assigned_default(l->text, p, p + n, &from);
		p += n - 1;
		if (m && m < sizeof(value) && !set_before(in, l, name) &&
		    (at || exported(in, name)))
			snprintf(value, sizeof(value), "%.*s", (int)m, from);
		else if (m || !at || !value_at(at, value, sizeof(value)))
			continue;
		found++;
		if (add)
			rs_input_add(a, in, l->number, NULL, "env", name, "%s", value);
	}
	return found;
}

/* Kubernetes: "- name: NCCL_IB_HCA", and the value on the next line. */
static bool pair_of_lines(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	const char *p = l->text + (*l->text == '-' ? 1 + strspn(l->text + 1, " ") : 0);
	char name[96], value[1024], quote;
	struct rs_line next;
	size_t n;

	if (strncmp(p, "name:", 5))
		return false;
	p += 5 + strspn(p + 5, " ");
	quote = *p == '"' || *p == '\'' ? *p++ : '\0';
	n = name_length(p);
	if (!is_kind(p) || n >= sizeof(name) || p[n] != quote)
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)n, p);
	next = *l;
	if (!rs_line_next(in, &next) || strncmp(next.text, "value:", 6) ||
	    !value_at(next.text + 6 + strspn(next.text + 6, " "), value, sizeof(value)))
		return true;
	rs_input_add(a, in, l->number + 1, NULL, "env", name, "%s", value);
	return true;
}

/* Commands that start a job's programs, whose words are no sentence. */
static bool starts_programs(const char *text)
{
	static const char *const names[] = {"apptainer",  "singularity", "podman",     "enroot",
					    "flux",       "prun",        "jsrun",      "aprun",
					    "horovodrun", "deepspeed",   "accelerate", "sbatch",
					    "salloc",     "qsub",        "nerdctl",    NULL};

	static const char *const verbs[] = {"exec",  "run",    "launch", "create",
					    "batch", "submit", "alloc",  NULL};
	const char *next;

	text += strspn(text, "$# ");
	next = text + strcspn(text, " ");
	if (!rs_word_in(names, text, (size_t)(next - text)))
		return false;
	next += strspn(next, " ");
	return *next == '-' || rs_word_in(verbs, next, strcspn(next, " "));
}

/* Words of a sentence around a variable. */
static bool is_sentence(const char *text)
{
	unsigned plain = 0;

	if (*text == '+' || rs_command_known(text) || starts_programs(text))
		return false;
	for (const char *p = text; *p; p += strspn(p, " \t")) {
		size_t n = strcspn(p, " \t"), letters = 0;

		for (size_t i = 0; i < n; i++)
			letters += isalpha((unsigned char)p[i]) || strchr("'.,?!:;", p[i]);
		plain += letters == n && n > 1 && strncmp(p, "export", 6);
		p += n;
	}
	return plain >= 3;
}

/* "I tried NCCL_X=1": no word of what is set now. */
static bool is_trial(const char *text)
{
	static const char *const words[] = {
		"tried",     "try",     "trying",  "if ",     "when ",     "should",
		"would",     "works",   "worked",  "fix",     "instead",   "suggest",
		"recommend", "unset",   "remov",   "without", "differen",  "also",
		"even",      "whether", "either",  "neither", "n't",       "not ",
		"could",     "maybe",   "perhaps", "example", "disabling", "changing",
		"what ",     "does ",   "after",   "before",  "same",      "vs"};

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcasestr(text, words[i]))
			return true;
	return false;
}

/* A source of C or C++: what its strings and comments say is no environment of a job. */
static bool is_program(const struct rs_input *in)
{
	static const char *const signs[] = {"#include <", "#include \"", "int main(",
					    "#ifndef ",   "#define ",    "namespace "};
	uint64_t asked = 0, *marks = in->marks ? in->marks : &asked;

	if (*marks & RS_MARK_PROGRAM_ASKED)
		return *marks & RS_MARK_PROGRAM;
	*marks |= RS_MARK_PROGRAM_ASKED;
	for (unsigned i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		for (const char *p = in->data; (p = strstr(p, signs[i])); p++)
			if (p == in->data || p[-1] == '\n')
				*marks |= RS_MARK_PROGRAM;
	return *marks & RS_MARK_PROGRAM;
}

/* Of a program's line: is it one that sets a variable, by a call or, in what stands around the
 * program, as a shell does? */
static bool sets(const char *text)
{
	static const char *const calls[] = {"setenv", "putenv", "Setenv", "set_var", "environ"};
	static const char *const begins[] = {"export ", "mpirun ", "srun ", "$ ", "docker ", "-x "};

	for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (strstr(text, calls[i]))
			return true;
	for (unsigned i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncmp(text, begins[i], strlen(begins[i])))
			return true;
	return is_kind(text) && is_assignment(text) && !strchr(text, ',');
}

/* "#SBATCH --export=ALL,X=1", "#PBS -v X=1": what a batch system reads of a script's comments. */
static bool is_directive(const char *text)
{
	static const char *const begins[] = {"#SBATCH --export", "#PBS -v ",     "#BSUB -env ",
					     "#$ -v ",           "#flux: --env", "#FLUX: --env"};

	for (unsigned i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncmp(text, begins[i], strlen(begins[i])))
			return true;
	return false;
}

/* "# NCCL_P2P_DISABLE=1 ./build/all_reduce_perf -b 8": root's prompt, and no comment. */
static bool is_root_command(const char *text)
{
	const char *p = text + 1 + strspn(text + 1, " ");

	if (text[1] != ' ' || !is_assignment(p))
		return false;
	while (is_assignment(p)) {
		p += strcspn(p, " ");
		p += strspn(p, " ");
	}
	return *p == '.' || *p == '/' || rs_command_known(p);
}

/* Behind "unset ", where a command may begin: at a line's start, a prompt's sign, or after another
 * command. */
static const char *unset_at(const char *text, bool *one)
{
	static const char *const words[] = {"unset ",      "unsetenv ",       "export -n ",
					    "env -u ",     "os.environ.pop(", "del os.environ[",
					    "os.unsetenv("};

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const char *p = strstr(text, words[i]), *before = p;

		if (!p)
			continue;
		while (before > text && strchr(" \t", before[-1]))
			before--;
		*one = !strncmp(words[i], "env -u ", 7);
		if (before == text || strchr("#$%>;&({", before[-1]))
			return p + strlen(words[i]);
	}
	return NULL;
}

/* "unset NCCL_P2P_DISABLE NCCL_ALGO": what was set before counts no more. env takes one name behind
 * each -u, and may set others: then it is no unset alone. */
static bool unsets(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	bool one = false;
	const char *p = unset_at(l->text, &one);
	unsigned found = 0;
	char name[96];

	if (!p)
		return false;
	while (*p && *p != ';' && *p != '#' && *p != '&') {
		size_t n;

		p += strspn(p, "'\"[(");
		n = name_length(p);

		if (n && n < sizeof(name) && is_kind(p)) {
			snprintf(name, sizeof(name), "%.*s", (int)n, p);
			rs_input_add(a, in, l->number, NULL, "env", name, "%s", "");
			found++;
		}
		p += n + strcspn(p + n, " ");
		p += strspn(p, " ");
		if (one && strncmp(p, "-u ", 3))
			return found && !is_assignment(p);
		p += one ? 3 : 0;
	}
	return found;
}

/* What a shell does not run is blanked: "`# -x X=1`" among a command's words, and what follows a
 * '#' behind a command or a setting. */
static bool without_comments(const struct rs_line *from, struct rs_line *to)
{
	char *p, *end, *set = strpbrk(from->text, "=");
	const char *run = strstr(from->text, "run "), *option = strstr(from->text, " -");

	to->next = from->next;
	to->number = from->number;
	to->indent = from->indent;
	snprintf(to->text, sizeof(to->text), "%s", from->text);
	while ((p = strstr(to->text, "`#")) && (end = strchr(p + 1, '`')))
		memset(p, ' ', (size_t)(end + 1 - p));
	for (p = to->text; (p = strstr(p, " # ")); p++) {
		size_t at = (size_t)(p - to->text);

		if ((set && set < from->text + at) || (run && run < from->text + at) ||
		    (option && option < from->text + at)) {
			*p = '\0';
			break;
		}
	}
	return strcmp(to->text, from->text) != 0;
}

static bool line_of_env(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	struct rs_input note = *in;
	const char *text = l->text;

	if ((*text == '#' && !is_root_command(text) && !is_directive(text)) ||
	    !strncmp(text, "//", 2))
		return false;
	/* NCCL's own lines tell more than their words */
	if (strstr(text, "NCCL INFO") || strstr(text, "NCCL WARN"))
		return false;
	if (pair_of_lines(a, in, l) || unsets(a, in, l))
		return true;
	if (is_program(in) && !sets(text))
		return false;
	if (!is_sentence(text))
		return rs_line_variables(a, in, l, true) > 0;
	if (is_trial(text))
		return false;
	note.trust = RS_TRUST_NOTE;
	return rs_line_variables(a, &note, l, true) > 0;
}

static bool line_env(struct rs_audit *a, const struct rs_input *in, const struct rs_line *l)
{
	struct rs_line *bare;
	bool took;

	if (!strchr(l->text, '#'))
		return line_of_env(a, in, l);
	bare = malloc(sizeof(*bare));
	if (!bare) {
		a->err = -ENOMEM;
		return false;
	}
	took = line_of_env(a, in, without_comments(l, bare) ? bare : l);
	free(bare);
	return took;
}

bool rs_env_alone(struct rs_audit *a, const struct rs_input *in)
{
	static const char *const asks[] = {"echo $", "echo \"$", "echo ${", "echo \"${",
					   "printenv "};
	struct rs_input own = *in;
	char name[64];

	own.trust = RS_TRUST_INTENT;
	for (unsigned i = 0; in->command && i < sizeof(asks) / sizeof(*asks); i++) {
		const char *p = in->command + strlen(asks[i]);
		struct rs_line *l;
		size_t n;
		bool took;

		if (strncmp(in->command, asks[i], strlen(asks[i])))
			continue;
		n = name_length(p);
		if (!n || n >= sizeof(name) || p[n + strspn(p + n, "}\"")] || !is_kind(p))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)n, p);
		l = calloc(1, sizeof(*l));
		took = l && rs_line_next(in, l) && *l->text && !strpbrk(l->text, " \t");
		if (took)
			rs_input_add(a, &own, l->number, NULL, "env", name, "%s", l->text);
		free(l);
		return took;
	}
	return false;
}

const struct rs_reader rs_reader_env = {
	.name = "env",
	.what = "environment of a job (NAME=value): shells, launchers, manifests, Python, notes",
	.trust = RS_TRUST_INTENT,
	.line = line_env,
	.of_code = true,
};
