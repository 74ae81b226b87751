/* Private to audit/: the readers (read_NAME.c). */
#ifndef RS_AUDIT_READ_READERS_H
#define RS_AUDIT_READ_READERS_H

#include "audit/read/reader.h"

extern const struct rs_reader rs_reader_facts;
extern const struct rs_reader rs_reader_files;
extern const struct rs_reader rs_reader_binding;
extern const struct rs_reader rs_reader_gid_used;
extern const struct rs_reader rs_reader_spoken;
extern const struct rs_reader rs_reader_env;
extern const struct rs_reader rs_reader_job_size;
extern const struct rs_reader rs_reader_container;
extern const struct rs_reader rs_reader_helped;
extern const struct rs_reader rs_reader_p2p_test;
extern const struct rs_reader rs_reader_tree;
extern const struct rs_reader rs_reader_listing;
extern const struct rs_reader rs_reader_mlnx_qos;
extern const struct rs_reader rs_reader_show_gids;
extern const struct rs_reader rs_reader_ibdev2netdev;
extern const struct rs_reader rs_reader_ibv_devinfo;
extern const struct rs_reader rs_reader_traffic_class;
extern const struct rs_reader rs_reader_counters;
extern const struct rs_reader rs_reader_nccl_log;
extern const struct rs_reader rs_reader_progress;
extern const struct rs_reader rs_reader_topo_m;
extern const struct rs_reader rs_reader_sonic;
extern const struct rs_reader rs_reader_lspci;
extern const struct rs_reader rs_reader_lspci_tree;
extern const struct rs_reader rs_reader_setpci;
extern const struct rs_reader rs_reader_cmdline;
extern const struct rs_reader rs_reader_oom_kill;
extern const struct rs_reader rs_reader_dmesg;
extern const struct rs_reader rs_reader_lsmod;
extern const struct rs_reader rs_reader_cpuidle;
extern const struct rs_reader rs_reader_ip;
extern const struct rs_reader rs_reader_rails;
extern const struct rs_reader rs_reader_route;
extern const struct rs_reader rs_reader_ethtool_i;
extern const struct rs_reader rs_reader_firmware;
extern const struct rs_reader rs_reader_cpupower;
extern const struct rs_reader rs_reader_nccl_xml;
extern const struct rs_reader rs_reader_junos;
extern const struct rs_reader rs_reader_nvue;
extern const struct rs_reader rs_reader_nv_show;
extern const struct rs_reader rs_reader_eos;
extern const struct rs_reader rs_reader_mqc;
extern const struct rs_reader rs_reader_ping;
extern const struct rs_reader rs_reader_cumulus_conf;
extern const struct rs_reader rs_reader_onyx_counters;
extern const struct rs_reader rs_reader_onyx_roce;
extern const struct rs_reader rs_reader_opainfo;
extern const struct rs_reader rs_reader_units;
extern const struct rs_reader rs_reader_iblinkinfo;
extern const struct rs_reader rs_reader_esxcli_rdma;
extern const struct rs_reader rs_reader_os10_pfc;
extern const struct rs_reader rs_reader_os10_queues;
extern const struct rs_reader rs_reader_eos_show;
extern const struct rs_reader rs_reader_lldp_json;
extern const struct rs_reader rs_reader_lldp_keys;
extern const struct rs_reader rs_reader_lldp_text;
extern const struct rs_reader rs_reader_lldp_xml;
extern const struct rs_reader rs_reader_ibnetdiscover;
extern const struct rs_reader rs_reader_netq;
extern const struct rs_reader rs_reader_sonic_counters;
extern const struct rs_reader rs_reader_sonic_show;
extern const struct rs_reader rs_reader_lspci_dump;
extern const struct rs_reader rs_reader_pci_config;
extern const struct rs_reader rs_reader_nvidia_smi;
extern const struct rs_reader rs_reader_nvlink;
extern const struct rs_reader rs_reader_nvidia_list;
extern const struct rs_reader rs_reader_mlxconfig;
extern const struct rs_reader rs_reader_mlxlink;
extern const struct rs_reader rs_reader_mlxreg;
extern const struct rs_reader rs_reader_ethtool;
extern const struct rs_reader rs_reader_rdma;
extern const struct rs_reader rs_reader_rdma_json;
extern const struct rs_reader rs_reader_ibstat;
extern const struct rs_reader rs_reader_ip_json;
extern const struct rs_reader rs_reader_ip_rule;
extern const struct rs_reader rs_reader_bonding;
extern const struct rs_reader rs_reader_sysctl;
extern const struct rs_reader rs_reader_numactl;
extern const struct rs_reader rs_reader_lscpu;
extern const struct rs_reader rs_reader_limits;
extern const struct rs_reader rs_reader_interrupts;
extern const struct rs_reader rs_reader_irq_affinity;
extern const struct rs_reader rs_reader_kubernetes;
extern const struct rs_reader rs_reader_dcb;
extern const struct rs_reader rs_reader_dcb_json;
extern const struct rs_reader rs_reader_uname;
extern const struct rs_reader rs_reader_nvrm;
extern const struct rs_reader rs_reader_lspci_list;
extern const struct rs_reader rs_reader_mlxlink_json;
extern const struct rs_reader rs_reader_hwloc;
extern const struct rs_reader rs_reader_cpuinfo;
extern const struct rs_reader rs_reader_ethtool_json;
extern const struct rs_reader rs_reader_nvidia_smi_xml;
extern const struct rs_reader rs_reader_ip_brief;
extern const struct rs_reader rs_reader_message;
extern const struct rs_reader rs_reader_shown;
extern const struct rs_reader rs_reader_vrp;
extern const struct rs_reader rs_reader_tlv;
extern const struct rs_reader rs_reader_nxos_pfc;
extern const struct rs_reader rs_reader_nxos_queuing;
extern const struct rs_reader rs_reader_junos_queue;
extern const struct rs_reader rs_reader_ibstatus;
extern const struct rs_reader rs_reader_ibv_devices;
extern const struct rs_reader rs_reader_ls_infiniband;
extern const struct rs_reader rs_reader_ibqueryerrors;
extern const struct rs_reader rs_reader_ibportstate;
extern const struct rs_reader rs_reader_perftest;
extern const struct rs_reader rs_reader_bench_tables;
extern const struct rs_reader rs_reader_tool_lines;
extern const struct rs_reader rs_reader_ulimit;
extern const struct rs_reader rs_reader_eos_ecn;
extern const struct rs_reader rs_reader_sonic_ecn;
extern const struct rs_reader rs_reader_frames;
extern const struct rs_reader rs_reader_frames_table;
extern const struct rs_reader rs_reader_ucx_info;
extern const struct rs_reader rs_reader_fi_info;

/* A port that an RDMA device was seen to have. */
/* Which port stands for a device of several, in what ibstat and ibv_devinfo print: the first that
 * is active, else the first. l: the device's heading; heading: what another device begins with. 0:
 * no port is there. */
unsigned rs_port_chosen(const struct rs_input *in, const struct rs_line *l, const char *heading);
void rs_port_seen(struct rs_audit *a, const struct rs_input *in, uint32_t line, const char *subject,
		  unsigned port);

/* A limit that a launcher's command printed is the job's own: srun, mpirun, kubectl exec. */
void rs_memlock_of_job(struct rs_audit *a, const struct rs_input *in, uint32_t line);

#endif
