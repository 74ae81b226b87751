/* NCCL_ variables: one table of names, where each goes and what it may be. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "nccl/env.h"
#include "nccl/plan.h"

const char *const rs_nccl_path_names[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C",
					  "PXN", "PHB", "SYS", "NET", "DIS", NULL};

enum kind { SWITCH, NUMBER, BYTES32, BYTES64, LEVEL, TEXT, P2P_OFF };

static const struct {
	const char *name;
	enum kind kind;
	size_t at;
	int64_t min, max;
} known[] = {
#define FIELD(f) offsetof(struct rs_nccl_env, f)
	{"NCCL_CROSS_NIC", NUMBER, FIELD(cross_nic), 0, 2},
	{"NCCL_P2P_LEVEL", LEVEL, FIELD(p2p_level), 0, 0},
	{"NCCL_P2P_DISABLE", P2P_OFF, FIELD(p2p_level), 0, 1},
	{"NCCL_NET_GDR_LEVEL", LEVEL, FIELD(gdr_level), 0, 0},
	{"NCCL_NET_GDR_READ", NUMBER, FIELD(gdr_read), -2, 1},
	{"NCCL_NET_GDR_C2C", SWITCH, FIELD(gdr_c2c), 0, 1},
	{"NCCL_PXN_DISABLE", SWITCH, FIELD(pxn_disable), 0, 1},
	{"NCCL_PXN_C2C", SWITCH, FIELD(pxn_c2c), 0, 1},
	{"NCCL_P2P_PXN_LEVEL", NUMBER, FIELD(p2p_pxn_level), 0, 2},
	{"NCCL_NVB_DISABLE", SWITCH, FIELD(nvb_disable), 0, 1},
	{"NCCL_SHM_DISABLE", SWITCH, FIELD(shm_disable), 0, 1},
	{"NCCL_NET_DISABLE_INTRA", SWITCH, FIELD(net_disable_intra), 0, 1},
	{"NCCL_MIN_NRINGS", NUMBER, FIELD(min_channels), 0, 1 << 20},
	{"NCCL_MIN_NCHANNELS", NUMBER, FIELD(min_channels), 0, 1 << 20},
	{"NCCL_MIN_CTAS", NUMBER, FIELD(min_channels), 0, 1 << 20},
	{"NCCL_MAX_NRINGS", NUMBER, FIELD(max_channels), 1, 1 << 20},
	{"NCCL_MAX_NCHANNELS", NUMBER, FIELD(max_channels), 1, 1 << 20},
	{"NCCL_MAX_CTAS", NUMBER, FIELD(max_channels), 1, 1 << 20},
	{"NCCL_MIN_P2P_NCHANNELS", NUMBER, FIELD(min_p2p), 1, 1 << 20},
	{"NCCL_MAX_P2P_NCHANNELS", NUMBER, FIELD(max_p2p), 1, 1 << 20},
	{"NCCL_NCHANNELS_PER_NET_PEER", NUMBER, FIELD(net_peer), -1, 1 << 20},
	{"NCCL_NVLS_ENABLE", NUMBER, FIELD(nvls), 0, 2},
	{"NCCL_NVLS_NCHANNELS", NUMBER, FIELD(nvls_channels), 1, RS_NCCL_CHANNELS_MAX},
	{"NCCL_COLLNET_ENABLE", SWITCH, FIELD(collnet), 0, 1},
	{"NCCL_CUMEM_ENABLE", SWITCH, FIELD(cumem), 0, 1},
	{"NCCL_MNNVL_SCATTER_NETS_ENABLE", SWITCH, FIELD(mnnvl_scatter), 0, 1},
	{"NCCL_BUFFSIZE", BYTES64, FIELD(buffer), 1, INT64_C(1) << 40},
	{"NCCL_P2P_NET_CHUNKSIZE", BYTES32, FIELD(chunk_net), 1, 1 << 30},
	{"NCCL_P2P_NVL_CHUNKSIZE", BYTES32, FIELD(chunk_nvl), 1, 1 << 30},
	{"NCCL_P2P_PCI_CHUNKSIZE", BYTES32, FIELD(chunk_pci), 1, 1 << 30},
	{"NCCL_NVLS_CHUNKSIZE", BYTES32, FIELD(nvls_chunk), 1, 1 << 30},
	{"NCCL_NVLSTREE_MAX_CHUNKSIZE", BYTES32, FIELD(nvls_tree_chunk), 1, 1 << 30},
	{"NCCL_IB_HCA", TEXT, FIELD(hca), 0, 0},
	{"NCCL_ALGO", TEXT, FIELD(algo), 0, 0},
	{"NCCL_PROTO", TEXT, FIELD(proto), 0, 0},
	{"NCCL_THREAD_THRESHOLDS", TEXT, FIELD(thresholds), 0, 0},
#undef FIELD
};
enum { KNOWN = sizeof(known) / sizeof(*known) };

void rs_nccl_env_init(struct rs_nccl_env *env, uint32_t release)
{
	*env = (struct rs_nccl_env){
		.release = release,
		.cross_nic = 2,
		.p2p_level = RS_NCCL_UNSET,
		.gdr_level = RS_NCCL_UNSET,
		.gdr_read = -2,
		.gdr_c2c = release >= RS_NCCL_RELEASE(2, 27, 0),
		.p2p_pxn_level = 2,
		.max_channels = RS_NCCL_UNSET,
		.min_p2p = 1,
		.max_p2p = RS_NCCL_UNSET,
		.net_peer = release < RS_NCCL_RELEASE(2, 20, 0) ? 2 : RS_NCCL_UNSET,
		.nvls = 2,
		.nvls_channels = RS_NCCL_UNSET,
		.cumem = release >= RS_NCCL_RELEASE(2, 19, 0),
		.mnnvl_scatter = true,
		.buffer = 1 << 22,
		.chunk_net = 1 << 17,
		.chunk_nvl = 1 << 19,
		.chunk_pci = 1 << 17,
	};
}

/* Old numbers of levels (graph/paths.cc). */
static int level(const char *s)
{
	static const int old[] = {RS_NCCL_LOC, RS_NCCL_PIX, RS_NCCL_PXB,
				  RS_NCCL_PHB, RS_NCCL_SYS, RS_NCCL_SYS};

	for (int i = 0; i <= RS_NCCL_SYS; i++)
		if (!strcmp(s, rs_nccl_path_names[i]))
			return i;
	if (*s >= '0' && *s <= '9') {
		long n = strtol(s, NULL, 10);

		return old[n > 5 ? 5 : n];
	}
	return -1;
}

static int bad(struct rs_error *e, const char *name, const char *value, const char *want)
{
	return rs_error_set(e, -EINVAL, "%s takes %s, not '%.60s'", name, want, value);
}

static int number(int i, const char *value, int64_t *out, struct rs_error *e)
{
	char want[96], *end;

	errno = 0;
	*out = strtoll(value, &end, 0);
	if (end != value && !*end && !errno && *out >= known[i].min && *out <= known[i].max)
		return 0;
	snprintf(want, sizeof(want), "a number from %lld to %lld", (long long)known[i].min,
		 (long long)known[i].max);
	return bad(e, known[i].name, value, want);
}

static int put(struct rs_nccl_env *env, int i, const char *value, struct rs_error *e)
{
	char *at = (char *)env + known[i].at;
	int64_t n = 0;
	int err, l;

	if (known[i].kind == TEXT) {
		if (strlen(value) >= RS_NCCL_TEXT_MAX)
			return bad(e, known[i].name, value, "less than 256 bytes");
		strcpy(at, value);
		return 0;
	}
	if (known[i].kind == LEVEL) {
		l = level(value);
		if (l < 0)
			return bad(e, known[i].name, value,
				   "LOC, NVL, PIX, PXB, PHB or SYS, or 0 to 5");
		*(int *)at = l;
		return 0;
	}
	err = number(i, value, &n, e);
	if (err)
		return err;
	switch (known[i].kind) {
	case SWITCH:
		*(bool *)at = n == 1;
		break;
	case BYTES32:
		*(uint32_t *)at = (uint32_t)n;
		break;
	case BYTES64:
		*(uint64_t *)at = (uint64_t)n;
		break;
	case P2P_OFF:
		if (n == 1)
			*(int *)at = RS_NCCL_LOC;
		break;
	default:
		*(int *)at = (int)n;
	}
	return 0;
}

int rs_nccl_env_set(struct rs_nccl_env *env, const char *name, const char *value,
		    struct rs_error *e)
{
	for (int i = 0; i < KNOWN; i++)
		if (!strcmp(name, known[i].name))
			return put(env, i, value, e);
	if (strncmp(name, "NCCL_", 5))
		return rs_error_set(e, -EINVAL, "'%.60s' is none of NCCL's variables", name);
	return 1;
}

uint32_t rs_nccl_release_parse(const char *text)
{
	unsigned major = 0, minor = 0, patch = 0;
	int used = 0;

	if (sscanf(text, "%1u.%2u%n.%2u%n", &major, &minor, &used, &patch, &used) < 2)
		return 0;
	if (text[used] && text[used] != '+' && text[used] != '-')
		return 0;
	return RS_NCCL_RELEASE(major, minor, patch);
}

/* One entry of the list, n bytes: "mlx5_0:1", a prefix or with whole a name. */
static bool entry_takes(const char *entry, size_t n, bool whole, const char *name, int port)
{
	const char *colon = memchr(entry, ':', n);
	size_t len = colon ? (size_t)(colon - entry) : n;

	if (whole ? strlen(name) != len || strncmp(name, entry, len)
		  : strncmp(name, entry, len) != 0)
		return false;
	return !colon || atoi(colon + 1) == port;
}

bool rs_nccl_env_takes(const struct rs_nccl_env *env, const char *name, int port)
{
	const char *s = env->hca;
	bool without = *s == '^', whole, found = false;

	s += without;
	whole = *s == '=';
	s += whole;
	if (!*s || !name)
		return true;
	for (; *s; s += strcspn(s, ",")) {
		s += strspn(s, ",");
		if (*s && entry_takes(s, strcspn(s, ","), whole, name, port))
			found = true;
	}
	return found != without;
}
