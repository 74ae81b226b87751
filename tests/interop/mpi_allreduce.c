/* All-reduces of 1 to 2^18 doubles among all ranks, sums and maxima, against what must come out. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LARGEST = 1 << 18 };

int main(int argc, char **argv)
{
	double *in = malloc(LARGEST * sizeof(*in)), *sum = malloc(LARGEST * sizeof(*sum));
	double *max = malloc(LARGEST * sizeof(*max));
	int rank, ranks, errors = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int n = 1; n <= LARGEST; n *= 8) {
		for (int i = 0; i < n; i++)
			in[i] = rank * 1000.0 + i;
		MPI_Allreduce(in, sum, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		MPI_Allreduce(in, max, n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
		for (int i = 0; i < n; i++)
			errors += sum[i] != ranks * (ranks - 1) / 2 * 1000.0 + ranks * (double)i ||
				  max[i] != (ranks - 1) * 1000.0 + i;
	}
	MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("allreduce: %d ranks, %d values wrong\n", ranks, errors);
	MPI_Finalize();
	free(in);
	free(sum);
	free(max);
	return errors != 0;
}
