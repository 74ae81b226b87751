/* The plug-in that `mpirun ripstop sim` loads: a run's ranks as processes of Open MPI. Apart from
 * the program, so that it starts, and installs, without MPI. */
#include <errno.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include "sim/ranks.h"

/* What the program looks up. */
int rs_ranks_mpi_start(struct rs_ranks *r);
void rs_ranks_mpi_end(void);

enum { TAG = 1, REDUCE_MOST = 1 << 24 };

static struct {
	int n, me;
	MPI_Request sent[RS_RANKS_MAX];
	void *in[RS_RANKS_MAX];
	size_t room[RS_RANKS_MAX];
} world;

static int receive(int from, const void **data, size_t *bytes)
{
	MPI_Status status;
	int n;

	if (MPI_Probe(from, TAG, MPI_COMM_WORLD, &status) || MPI_Get_count(&status, MPI_BYTE, &n) ||
	    n < 0)
		return -EIO;
	if ((size_t)n > world.room[from]) {
		free(world.in[from]);
		world.room[from] = 2 * (size_t)n;
		world.in[from] = malloc(world.room[from]);
		if (!world.in[from]) {
			world.room[from] = 0;
			return -ENOMEM;
		}
	}
	if (MPI_Recv(world.in[from], n, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE))
		return -EIO;
	*data = world.in[from];
	*bytes = (size_t)n;
	return 0;
}

static int exchange(void *ctx, const void *const out[], const size_t out_bytes[], const void *in[],
		    size_t in_bytes[])
{
	int err = 0;

	for (int r = 0; r < world.n; r++) {
		world.sent[r] = MPI_REQUEST_NULL;
		if (r == world.me)
			continue;
		if (out_bytes[r] > INT32_MAX)
			return -EMSGSIZE;
		if (MPI_Isend(out[r], (int)out_bytes[r], MPI_BYTE, r, TAG, MPI_COMM_WORLD,
			      &world.sent[r]))
			return -EIO;
	}
	for (int r = 0; r < world.n && !err; r++)
		if (r != world.me)
			err = receive(r, &in[r], &in_bytes[r]);
	if (!err && MPI_Waitall(world.n, world.sent, MPI_STATUSES_IGNORE))
		err = -EIO;
	return err;
}

static int reduce(void *ctx, enum rs_ranks_op op, int64_t *v, size_t n)
{
	static const MPI_Op ops[] = {
		[RS_RANKS_SUM] = MPI_SUM, [RS_RANKS_MIN] = MPI_MIN, [RS_RANKS_MAX_OF] = MPI_MAX};

	for (size_t at = 0; at < n; at += REDUCE_MOST) {
		size_t part = n - at < REDUCE_MOST ? n - at : REDUCE_MOST;

		if (MPI_Allreduce(MPI_IN_PLACE, v + at, (int)part, MPI_INT64_T, ops[op],
				  MPI_COMM_WORLD))
			return -EIO;
	}
	return 0;
}

int rs_ranks_mpi_start(struct rs_ranks *r)
{
	if (MPI_Init(NULL, NULL) || MPI_Comm_size(MPI_COMM_WORLD, &world.n) ||
	    MPI_Comm_rank(MPI_COMM_WORLD, &world.me))
		return -EIO;
	if (world.n > RS_RANKS_MAX)
		return -E2BIG;
	*r = (struct rs_ranks){.n = (uint32_t)world.n,
			       .me = (uint32_t)world.me,
			       .exchange = exchange,
			       .reduce = reduce};
	return 0;
}

void rs_ranks_mpi_end(void)
{
	MPI_Finalize();
	for (int r = 0; r < world.n; r++)
		free(world.in[r]);
	memset(&world, 0, sizeof(world));
}
