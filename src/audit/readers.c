/* All readers. The order does not matter: the highest score takes a file. */
#include "audit/readers.h"

const struct rs_reader *const rs_readers[] = {
	&rs_reader_env,
	&rs_reader_tree,
	&rs_reader_listing,
	&rs_reader_mlnx_qos,
	&rs_reader_show_gids,
	&rs_reader_ibdev2netdev,
	&rs_reader_ibv_devinfo,
	&rs_reader_traffic_class,
	&rs_reader_counters,
	&rs_reader_nccl_log,
	&rs_reader_topo_m,
	&rs_reader_sonic,
	NULL,
};
