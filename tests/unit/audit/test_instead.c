/* What a command says in place of a file's content is never the file's value, in whatever words and
 * language; what the kernel prints there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "reading.h"

static const struct {
	const char *file, *subject, *name, *right, *value;
} files[] = {
	{"/sys/module/nvidia_peermem/version", "host", "module/nvidia_peermem", "535.104.05",
	 "535.104.05"},
	{"/sys/kernel/mm/memory_peers/nv_mem/version", "host", "memory_peers/nv_mem", "1.1-0",
	 "1.1-0"},
	{"/sys/class/infiniband/mlx5_0/ports/1/state", "nic/mlx5_0", "port_state", "4: ACTIVE",
	 "ACTIVE"},
	{"/sys/class/infiniband/mlx5_0/ports/1/rate", "nic/mlx5_0", "rate_gbps",
	 "400 Gb/sec (4X NDR)", "400"},
	{"/sys/class/infiniband/mlx5_0/ports/1/link_layer", "nic/mlx5_0", "link_layer", "Ethernet",
	 "Ethernet"},
	{"/sys/class/infiniband/mlx5_0/fw_ver", "nic/mlx5_0", "firmware", "28.39.1002",
	 "28.39.1002"},
	{"/sys/class/net/eth2/mtu", "netdev/eth2", "mtu", "9000", "9000"},
	{"/sys/class/net/eth2/operstate", "netdev/eth2", "operstate", "up", "up"},
	{"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "host", "governor", "performance",
	 "performance"},
	{"/proc/sys/kernel/numa_balancing", "host", "numa_balancing", "0", "0"},
};

static const char *const instead[] = {
	"cat: %s: No such file or directory",
	"cat: %s: Datei oder Verzeichnis nicht gefunden",
	"cat: %s: Aucun fichier ou dossier de ce type",
	"cat: %s: \346\262\241\346\234\211\351\202\243\344\270\252\346\226\207\344\273\266",
	"cat: can't open '%s': No such file or directory",
	"zsh: permission denied: %s",
	"OCI runtime exec failed: exec failed: unable to start container process: exec: \"cat\": "
	"executable file not found in $PATH: unknown",
	"error: unable to upgrade connection: container not found (\"nccl\")",
	"Error response from daemon: No such container: nccl",
	"ssh: connect to host n1 port 22: Connection refused",
	"srun: error: Unable to create step for job 8812: Requested nodes are busy",
	"Connection to n1 closed.",
	"Terminated",
	"Killed",
	"n/a",
	"N/A",
	"+ export A=1",
};

/* How people show it; %s: the file, then what was printed. */
static const char *const shown[] = {
	"root@h:~# cat %s\n%s\nroot@h:~# true\n",
	"$ cat %s\n%s\n$ ls\na.out\n",
	"+ cat %s\n%s\n+ true\n",
	"```\n# cat %s\n%s\n```\n",
};

static struct rs_audit *reading_of(unsigned file, unsigned how, const char *printed)
{
	char text[1024];
	struct rs_input in = {.host = "h", .path = "file", .inner = "file", .data = text};
	struct rs_audit *a;
	int n;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	n = snprintf(text, sizeof(text), shown[how], files[file].file, printed);
#pragma GCC diagnostic pop
	assert_in_range(n, 1, sizeof(text) - 1);
	in.size = (size_t)n;
	assert_int_equal(rs_audit_create(&a), 0);
	assert_true(rs_read_input(a, &in) >= 0); /* 0: nothing was understood */
	rs_facts_seal(a->facts);
	return a;
}

static void test_an_error_is_no_value(void **state)
{
	for (unsigned i = 0; i < sizeof(files) / sizeof(*files); i++)
		for (unsigned k = 0; k < sizeof(instead) / sizeof(*instead); k++)
			for (unsigned how = 0; how < sizeof(shown) / sizeof(*shown); how++) {
				struct rs_audit *a;
				char printed[512];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
				snprintf(printed, sizeof(printed), instead[k], files[i].file);
#pragma GCC diagnostic pop
				a = reading_of(i, how, printed);
				for (uint32_t h = 0; h < rs_facts_hosts(a->facts); h++) {
					const char *is =
						rs_facts_value(a->facts, rs_facts_host(a->facts, h),
							       files[i].subject, files[i].name);

					if (is)
						fail_msg("'%s' (%u) is %s %s: '%s'", printed, how,
							 files[i].subject, files[i].name, is);
				}
				rs_audit_destroy(a);
			}
}

static void test_what_the_kernel_prints_is(void **state)
{
	for (unsigned i = 0; i < sizeof(files) / sizeof(*files); i++)
		for (unsigned how = 0; how < sizeof(shown) / sizeof(*shown); how++) {
			struct rs_audit *a = reading_of(i, how, files[i].right);

			expect(a, files[i].subject, files[i].name, files[i].value);
			rs_audit_destroy(a);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_error_is_no_value),
		cmocka_unit_test(test_what_the_kernel_prints_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
