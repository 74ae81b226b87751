/* Two MPI ranks pass messages of 0 bytes to 4 MiB to and fro; every byte is checked. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 5, LARGEST = 4 << 20 };

static unsigned char byte_of(int round, int from, int i)
{
	return (unsigned char)(i * 31 + round * 7 + from);
}

static int wrong(const unsigned char *b, int n, int round, int from)
{
	for (int i = 0; i < n; i++)
		if (b[i] != byte_of(round, from, i))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	unsigned char *out = malloc(LARGEST), *in = malloc(LARGEST);
	int rank, errors = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int n = 0; rank < 2 && n <= LARGEST; n = n ? n * 4 : 1)
		for (int r = 0; r < ROUNDS; r++) {
			for (int i = 0; i < n; i++)
				out[i] = byte_of(r, rank, i);
			if (rank == 0)
				MPI_Send(out, n, MPI_BYTE, 1, r, MPI_COMM_WORLD);
			MPI_Recv(in, n, MPI_BYTE, 1 - rank, r, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			if (rank == 1)
				MPI_Send(out, n, MPI_BYTE, 0, r, MPI_COMM_WORLD);
			errors += wrong(in, n, r, 1 - rank);
		}
	MPI_Allreduce(MPI_IN_PLACE, &errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("pingpong: %d messages wrong\n", errors);
	MPI_Finalize();
	free(out);
	free(in);
	return errors != 0;
}
