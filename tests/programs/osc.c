/* One-sided MPI: each rank puts into the other's window, accumulates, gets and counts; every
 * element is checked. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 50000 };

int main(int argc, char **argv)
{
	int rank, ranks, wrong = 0, checked = 0;
	long *window, *out = calloc(N, sizeof(*out)), *in = calloc(N, sizeof(*in));
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Win_allocate((2 * N + 1) * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
			 &window, &win);
	for (int i = 0; i < 2 * N + 1; i++)
		window[i] = 0;
	for (int i = 0; i < N; i++)
		out[i] = (rank + 1) * 1000000L + i;
	MPI_Win_fence(0, win);
	MPI_Put(out, N, MPI_LONG, (rank + 1) % ranks, 0, N, MPI_LONG, win);
	for (int r = 0; r < ranks; r++)
		MPI_Accumulate(out, 1000, MPI_LONG, r, N, 1000, MPI_LONG, MPI_SUM, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < N; i++, checked++)
		wrong += window[i] != ((rank + ranks - 1) % ranks + 1) * 1000000L + i;
	for (int i = 0; i < 1000; i++, checked++)
		wrong += window[N + i] != ranks * (ranks + 1) / 2 * 1000000L + (long)ranks * i;
	MPI_Get(in, N, MPI_LONG, (rank + 1) % ranks, 0, N, MPI_LONG, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < N; i++, checked++)
		wrong += in[i] != out[i];
	MPI_Win_lock_all(0, win);
	for (int i = 0; i < 200; i++) {
		long one = 1, old;

		MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 2 * N, MPI_SUM, win);
		MPI_Win_flush(0, win);
	}
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
		wrong += window[2 * N] != 200L * ranks;
		checked++;
		MPI_Win_unlock(0, win);
	}
	MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("osc: %d of %d wrong\n", wrong, checked * ranks);
	MPI_Win_free(&win);
	MPI_Finalize();
	return wrong != 0;
}
