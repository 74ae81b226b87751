/* Each reader against every other reader's output, jobs, prose and mail: it
 * takes nothing that is not its own, alone or in one text behind another.
 * tests/data/readers.txt has a block for each. */
#include "reading.h"
#include <stdlib.h>

enum { BLOCKS = 64, BYTES = 1 << 16, STEP = 2 };

static struct block {
	char name[48];
	const char *text;
	size_t size;
	unsigned facts;
} block[BLOCKS];
static unsigned n_blocks;
static char all[BYTES];

/* "==== NAME" begins a block; what stands before the first is a remark. */
static int load(void **state)
{
	FILE *f = fopen(RS_SOURCE_DIR "/tests/data/readers.txt", "r");
	char *p;
	size_t n;

	(void)state;
	assert_non_null(f);
	n = fread(all, 1, sizeof(all) - 1, f);
	fclose(f);
	all[n] = '\0';
	for (p = strstr(all, "==== "); p;) {
		struct block *b = &block[n_blocks++];
		char *end = strstr(p + 5, "\n==== ");

		assert_true(n_blocks < BLOCKS);
		snprintf(b->name, sizeof(b->name), "%.*s", (int)strcspn(p + 5, "\n"), p + 5);
		b->text = strchr(p, '\n') + 1;
		b->size = end ? (size_t)(end + 1 - b->text) : strlen(b->text);
		p = end ? end + 1 : NULL;
	}
	return 0;
}

static struct rs_audit *read_text(const char *text, size_t size)
{
	struct rs_input in = {
		.host = "h", .path = "file", .inner = "file", .data = text, .size = size};
	struct rs_audit *a;

	assert_int_equal(rs_audit_create(&a), 0);
	assert_true(rs_read_input(a, &in) >= 0);
	rs_facts_seal(a->facts);
	return a;
}

static char *text_of(const struct block *b, const struct block *behind)
{
	char *text = calloc(1, b->size + (behind ? behind->size : 0) + 3);

	assert_non_null(text);
	memcpy(text, b->text, b->size);
	if (behind) {
		text[b->size] = '\n';
		memcpy(text + b->size + 1, behind->text, behind->size);
	}
	return text;
}

static void test_each_block_is_its_readers(void **state)
{
	unsigned wrong = 0;

	(void)state;
	for (unsigned i = 0; i < n_blocks; i++) {
		char *text = text_of(&block[i], NULL);
		struct rs_audit *a = read_text(text, block[i].size);
		bool known = false, own = false;

		for (uint32_t k = 0; k < a->n_files; k++)
			own |= a->files[k].reader && !strcmp(a->files[k].reader, block[i].name);
		for (unsigned r = 0; rs_readers[r]; r++)
			known |= !strcmp(rs_readers[r]->name, block[i].name);
		block[i].facts = rs_facts_count(a->facts);
		if (known ? !own : block[i].facts > 0) {
			print_error("%s: read by %s, %u facts\n", block[i].name,
				    a->n_files ? a->files[0].reader : "none", block[i].facts);
			wrong++;
		}
		rs_audit_destroy(a);
		free(text);
	}
	assert_int_equal(wrong, 0);
}

/* By its score alone a reader may look at what is another's; it must make
 * nothing of it. */
static void test_no_reader_takes_anothers(void **state)
{
	unsigned wrong = 0;

	(void)state;
	for (unsigned i = 0; i < n_blocks; i++)
		for (unsigned r = 0; rs_readers[r]; r++) {
			char *text = text_of(&block[i], NULL);
			struct rs_input in = {.host = "h",
					      .path = "file",
					      .inner = "file",
					      .data = text,
					      .size = block[i].size};
			struct rs_audit *a;

			assert_int_equal(rs_audit_create(&a), 0);
			if (rs_readers[r]->score && strcmp(rs_readers[r]->name, block[i].name) &&
			    rs_readers[r]->score(&in) > 0 && !rs_readers[r]->read(a, &in) &&
			    rs_facts_count(a->facts)) {
				print_error("%s takes what is of %s: %u facts\n",
					    rs_readers[r]->name, block[i].name,
					    rs_facts_count(a->facts));
				wrong++;
			}
			rs_audit_destroy(a);
			free(text);
		}
	assert_int_equal(wrong, 0);
}

static bool has(const struct rs_audit *a, const struct rs_fact *f)
{
	const struct rs_fact *k;
	uint32_t at = 0;

	while ((k = rs_facts_next(a->facts, &at, f->host, f->subject, f->name)))
		if (!strcmp(k->subject, f->subject) && !strcmp(k->name, f->name) &&
		    !strcmp(k->value, f->value))
			return true;
	return false;
}

/* Every fact of a block is there behind another's output, too. A text without
 * prompts is one host's: its switch's system is the first that was named. */
static unsigned lost(const struct block *b, const struct rs_audit *both)
{
	char *text = text_of(b, NULL);
	struct rs_audit *a = read_text(text, b->size);
	const struct rs_fact *f;
	unsigned n = 0;
	uint32_t at = 0;

	while ((f = rs_facts_next(a->facts, &at, "h", "", "")))
		/* one text is one machine: what it is was said by the first */
		if (strcmp(f->subject, "said") && strcmp(f->name, "os") && !has(both, f)) {
			if (!n)
				print_error("  %s %s = %s\n", f->subject, f->name, f->value);
			n++;
		}
	rs_audit_destroy(a);
	free(text);
	return n;
}

static bool is_settings(const struct block *b)
{
	for (unsigned r = 0; rs_readers[r]; r++)
		if (!strcmp(rs_readers[r]->name, b->name))
			return rs_readers[r]->settings;
	return false;
}

static void test_nothing_is_lost_behind_another(void **state)
{
	unsigned wrong = 0;

	(void)state;
	for (unsigned i = 0; i < n_blocks; i++)
		for (unsigned k = i % STEP; k < n_blocks; k += STEP) {
			char *text;
			struct rs_audit *a;

			/* two configurations are of two machines, and not in one text */
			if (i == k || (is_settings(&block[i]) && is_settings(&block[k])))
				continue;
			text = text_of(&block[i], &block[k]);
			a = read_text(text, strlen(text));
			if (lost(&block[i], a) || lost(&block[k], a)) {
				print_error("%s, then %s: facts are lost\n", block[i].name,
					    block[k].name);
				wrong++;
			}
			rs_audit_destroy(a);
			free(text);
		}
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_block_is_its_readers),
		cmocka_unit_test(test_no_reader_takes_anothers),
		cmocka_unit_test(test_nothing_is_lost_behind_another),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}
