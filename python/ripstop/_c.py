"""libripstop.so.0 by ctypes: its structures, its calls, and its errors as exceptions.

The structures are those of include/ripstop; tests/python holds each field's place against the headers.
"""
import ctypes
import ctypes.util
import os
from ctypes import (POINTER, Structure, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_long,
                    c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p)

NEVER = 2**63 - 1


class Error(Exception):
    """What libripstop refuses: `str()` is "file:line:column: message (hint)".

    code is a negative errno; file is a file's name or a setting's path, "" where there is none; line and
    column are counted from 1, 0 where they are not known.
    """

    def __init__(self, text, code=0, message="", file="", line=0, column=0, hint=""):
        super().__init__(text)
        self.code = code
        self.message = message or text
        self.file = file
        self.line = line
        self.column = column
        self.hint = hint


def _find():
    given = os.environ.get("RIPSTOP_LIBRARY")
    if given:
        return given
    # beside the module: PREFIX/lib/python3.x/dist-packages/ripstop
    here = os.path.dirname(os.path.abspath(__file__))
    for _ in range(6):
        here = os.path.dirname(here)
        for sub in ("", "lib", "lib64", f"lib/{os.uname().machine}-linux-gnu"):
            path = os.path.join(here, sub, "libripstop.so.0")
            if os.path.exists(path):
                return path
    return ctypes.util.find_library("ripstop") or "libripstop.so.0"


try:
    lib = ctypes.CDLL(_find())
except OSError as e:
    raise ImportError(f"libripstop.so.0 is not found ({e}): install it, or name it in RIPSTOP_LIBRARY") from e


class Sized(Structure):
    """A structure that begins with its size."""

    def __init__(self, **fields):
        super().__init__(**fields)
        self.size = ctypes.sizeof(self)


class Network(Sized):
    _fields_ = [("size", c_size_t), ("kind", c_char_p), ("hosts", c_uint32), ("nics", c_uint32),
                ("leaves", c_uint32), ("spines", c_uint32), ("links", c_uint32), ("k", c_uint32),
                ("tiers", c_uint32), ("rails", c_uint32), ("hosts_per_leaf", c_uint32), ("mtu", c_uint32),
                ("rate", c_int64), ("uplink_rate", c_int64), ("delay", c_int64), ("uplink_delay", c_int64),
                ("loss", c_double)]


class Flow(Structure):
    _fields_ = [("start", c_int64), ("bytes", c_uint64), ("src", c_uint32), ("dst", c_uint32),
                ("traffic_class", c_int32), ("unused", c_uint32)]


class FabricFacts(Sized):
    _fields_ = [("size", c_size_t), ("hosts", c_uint32), ("endpoints", c_uint32), ("switches", c_uint32),
                ("links", c_uint32), ("gpus", c_uint32), ("jobs", c_uint32), ("tiers", c_uint32),
                ("diameter", c_uint32), ("oversubscription", c_double), ("bisection", c_int64)]


PROGRESS = ctypes.CFUNCTYPE(c_int, c_void_p, c_int64, c_double)


class SimOptions(Sized):
    _fields_ = [("size", c_size_t), ("seed", c_uint64), ("diagnose", c_uint32), ("seeds", c_uint32),
                ("threads", c_uint32), ("unused", c_uint32), ("max_time", c_int64), ("rate_interval", c_int64),
                ("pcap", c_char_p), ("pcap_links", c_char_p), ("progress", PROGRESS), ("progress_arg", c_void_p),
                ("cancel", POINTER(c_int))]


class Summary(Sized):
    _fields_ = [("size", c_size_t), ("complete", c_int32), ("stopped", c_int32), ("runs", c_uint32),
                ("causes", c_uint32), ("jobs", c_uint32), ("seeds", c_uint32), ("endpoints", c_uint32),
                ("threads", c_uint32), ("flows", c_uint64), ("rates", c_uint64), ("sim_time", c_int64),
                ("wall_s", c_double), ("cpu_s", c_double)]


class SessionOptions(Sized):
    _fields_ = [("size", c_size_t), ("seed", c_uint64), ("under_way", c_uint32), ("unused", c_uint32)]


class News(Structure):
    _fields_ = [("when", c_int64), ("user", c_uint64), ("message", c_uint32), ("what", c_uint32),
                ("status", c_uint32), ("unused", c_uint32)]


class Job(Structure):
    _fields_ = [("name", c_char_p), ("kind", c_char_p), ("end", c_uint32), ("ranks", c_uint32),
                ("start", c_int64), ("finish", c_int64), ("time", c_int64), ("p50", c_int64), ("p99", c_int64),
                ("max", c_int64), ("bytes", c_uint64), ("algbw", c_double), ("busbw", c_double),
                ("compute", c_int64), ("communication", c_int64), ("exposed", c_int64), ("efficiency", c_double)]


class FlowTime(Structure):
    _fields_ = [("start", c_int64), ("finish", c_int64), ("delivered", c_int64), ("bytes", c_uint64),
                ("src", c_uint32), ("dst", c_uint32), ("job", c_uint32), ("unused", c_uint32)]


class Rate(Structure):
    _fields_ = [("when", c_int64), ("rate", c_int64), ("flow", c_uint32), ("unused", c_uint32)]


class Counters(Sized):
    _fields_ = [("size", c_size_t)] + [(n, c_uint64) for n in (
        "data_packets", "ack_packets", "packets_sent", "packets_delivered", "packets_in_flight", "packet_hops",
        "events", "drops", "nic_drops", "link_losses", "ecn_marked", "data_marked", "cnps", "cc_cuts",
        "cc_increases", "pauses", "nic_pauses", "retransmits", "reordered", "timeouts", "naks", "rnr_naks",
        "max_queue", "max_buffer")] + [("paused", c_int64)]


class Drop(Structure):
    _fields_ = [("place", c_char_p), ("to", c_char_p), ("why", c_char_p), ("packets", c_uint64),
                ("traffic_class", c_int32), ("dscp", c_int32)]


class Pause(Structure):
    _fields_ = [("by", c_char_p), ("held", c_char_p), ("waited_for", c_char_p), ("root", c_char_p),
                ("frames", c_uint64), ("time", c_int64), ("traffic_class", c_uint32), ("unused", c_uint32)]


class Run(Structure):
    _fields_ = [("name", c_char_p), ("kind", c_char_p), ("id", c_char_p), ("how", c_char_p), ("time", c_int64),
                ("gain", c_double), ("low", c_double), ("high", c_double), ("ends", c_int32), ("clear", c_int32),
                ("seeds", c_uint32), ("unused", c_uint32)]


class Cause(Structure):
    _fields_ = [("id", c_char_p), ("what", c_char_p), ("place", c_char_p), ("evidence", c_char_p * 4),
                ("share", c_double), ("low", c_double), ("high", c_double), ("run", c_uint32), ("fix", c_int32)]


class NicConfig(Sized):
    _fields_ = [("size", c_size_t), ("mac", c_uint8 * 6), ("unused", c_uint8 * 2), ("address", c_uint8 * 16),
                ("rate", c_int64), ("max_qps", c_uint32), ("max_regions", c_uint32), ("max_cqs", c_uint32),
                ("max_peers", c_uint32), ("first_qpn", c_uint32), ("ack_every", c_uint32), ("ack_delay", c_int64),
                ("min_rto", c_int64), ("cc", c_char_p), ("cc_preset", c_char_p), ("cc_settings", c_char_p),
                ("key_seed", c_uint64), ("cnp_dscp", c_uint8), ("cnp_class", c_uint8), ("weight", c_uint8 * 8)]


class Completion(Structure):
    _fields_ = [("id", c_uint64), ("qpn", c_uint32), ("bytes", c_uint32), ("imm", c_uint32),
                ("src_qpn", c_uint32), ("status", c_uint8), ("op", c_uint8), ("has_imm", c_uint8),
                ("solicited", c_uint8)]


class QpConfig(Sized):
    _fields_ = [("size", c_size_t), ("pd", c_uint32), ("transport", c_uint8), ("max_sge", c_uint8),
                ("all_signaled", c_uint8), ("unused", c_uint8), ("max_sends", c_uint32),
                ("max_receives", c_uint32), ("send_cq", c_void_p), ("receive_cq", c_void_p)]


class QpPeer(Sized):
    _fields_ = [("size", c_size_t), ("address", c_uint8 * 16), ("mac", c_uint8 * 6), ("mtu", c_uint16),
                ("qpn", c_uint32), ("send_psn", c_uint32), ("receive_psn", c_uint32), ("access", c_uint32),
                ("qkey", c_uint32), ("source_port", c_uint16), ("pkey", c_uint16), ("dscp", c_uint8),
                ("ecn", c_uint8), ("traffic_class", c_uint8), ("timeout", c_uint8), ("retries", c_uint8),
                ("rnr_retries", c_uint8), ("min_rnr_timer", c_uint8), ("max_reads", c_uint8)]


class Sge(Structure):
    _fields_ = [("va", c_uint64), ("length", c_uint32), ("key", c_uint32)]


class Send(Sized):
    _fields_ = [("size", c_size_t), ("id", c_uint64), ("op", c_uint8), ("flags", c_uint8), ("n_sge", c_uint8),
                ("unused", c_uint8), ("imm", c_uint32), ("sge", POINTER(Sge)), ("remote_va", c_uint64),
                ("remote_key", c_uint32), ("qpn", c_uint32), ("qkey", c_uint32), ("address", c_uint8 * 16),
                ("mac", c_uint8 * 6), ("dscp", c_uint8), ("traffic_class", c_uint8), ("compare", c_uint64),
                ("swap_add", c_uint64)]


class NicCounters(Sized):
    _fields_ = [("size", c_size_t)] + [(n, c_uint64) for n in (
        "tx_packets", "tx_bytes", "rx_packets", "rx_bytes", "tx_data_packets", "tx_data_bytes", "tx_ack_packets",
        "retransmitted_packets", "retransmitted_bytes", "out_of_sequence", "packet_seq_err",
        "implied_nak_seq_err", "duplicate_request", "local_ack_timeout_err", "rnr_nak_retry_err",
        "req_remote_access_errors", "resp_remote_access_errors", "req_remote_invalid_request",
        "resp_remote_invalid_request", "req_cqe_error", "resp_cqe_error", "req_cqe_flush_error",
        "np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled", "rx_icrc_encapsulated", "rx_dropped",
        "bad_pkey", "bad_qkey", "rx_foreign", "rx_other", "rx_bad", "rx_pauses")]


class AuditOptions(Sized):
    _fields_ = [("size", c_size_t), ("only", POINTER(c_char_p)), ("skip", POINTER(c_char_p)), ("price", c_uint32),
                ("unused", c_uint32)]


class Finding(Structure):
    _fields_ = [(n, c_char_p) for n in ("id", "rule", "title", "why", "authority", "suppressed", "price_unit",
                                        "price_metric")] + [
        (n, c_double) for n in ("price_low", "price_high", "price_as_is", "price_fixed")] + [
        ("verdict", c_uint32), ("severity", c_uint32), ("confidence", c_uint32), ("cause", c_int32),
        ("places", c_uint32), ("evidence", c_uint32), ("fixes", c_uint32), ("needs", c_uint32)]


class Place(Structure):
    _fields_ = [("host", c_char_p), ("part", c_char_p)]


class Evidence(Structure):
    _fields_ = [(n, c_char_p) for n in ("host", "subject", "name", "value", "file", "at")] + [
        ("line", c_uint32), ("unused", c_uint32)]


class Fix(Structure):
    _fields_ = [(n, c_char_p) for n in ("on", "command", "undo", "interrupts")] + [
        ("choice", c_uint32), ("persistent", c_int32)]


class Need(Structure):
    _fields_ = [("file", c_char_p), ("why", c_char_p)]


class File(Structure):
    _fields_ = [(n, c_char_p) for n in ("host", "path", "reader")] + [("facts", c_uint32), ("unused", c_uint32)]


# C's name: ctypes' structure. The test of places walks this.
STRUCTURES = {
    "ripstop_network": Network, "ripstop_flow": Flow, "ripstop_fabric_facts": FabricFacts,
    "ripstop_sim_options": SimOptions, "ripstop_summary": Summary, "ripstop_job": Job,
    "ripstop_flow_time": FlowTime, "ripstop_rate": Rate, "ripstop_counters": Counters, "ripstop_drop": Drop,
    "ripstop_pause": Pause, "ripstop_run": Run, "ripstop_cause": Cause, "ripstop_nic_config": NicConfig,
    "ripstop_completion": Completion, "ripstop_qp_config": QpConfig, "ripstop_qp_peer": QpPeer,
    "ripstop_audit_options": AuditOptions, "ripstop_finding": Finding, "ripstop_place": Place,
    "ripstop_evidence": Evidence, "ripstop_fix": Fix, "ripstop_need": Need, "ripstop_file": File,
    "ripstop_session_options": SessionOptions, "ripstop_news": News, "ripstop_sge": Sge, "ripstop_send": Send, "ripstop_nic_counters": NicCounters,
}


def _declare(name, result, *arguments):
    if hasattr(lib, name):  # a build of some components has not all
        f = getattr(lib, name)
        f.restype = result
        f.argtypes = arguments


_E = POINTER(c_void_p)  # where an error is put
_O = POINTER(c_void_p)  # where an object is put
for _name, _result, *_arguments in (
        ("ripstop_version", c_char_p),
        ("ripstop_has", c_int, c_char_p),
        ("ripstop_error_code", c_int, c_void_p),
        ("ripstop_error_message", c_char_p, c_void_p),
        ("ripstop_error_hint", c_char_p, c_void_p),
        ("ripstop_error_file", c_char_p, c_void_p),
        ("ripstop_error_line", c_int, c_void_p),
        ("ripstop_error_column", c_int, c_void_p),
        ("ripstop_error_text", c_char_p, c_void_p),
        ("ripstop_error_free", None, c_void_p),
        ("ripstop_free", None, c_void_p),
        ("ripstop_fabric_new", c_int, _O, _E),
        ("ripstop_fabric_load", c_int, c_char_p, _O, _E),
        ("ripstop_fabric_parse", c_int, c_char_p, c_size_t, c_char_p, c_char_p, _O, _E),
        ("ripstop_fabric_copy", c_int, c_void_p, _O, _E),
        ("ripstop_fabric_free", None, c_void_p),
        ("ripstop_fabric_set", c_int, c_void_p, c_char_p, c_char_p, _E),
        ("ripstop_fabric_add_host", c_int, c_void_p, c_char_p, _E),
        ("ripstop_fabric_add_switch", c_int, c_void_p, c_char_p, c_uint32, _E),
        ("ripstop_fabric_add_link", c_int, c_void_p, c_char_p, c_char_p, c_int64, c_int64, c_double, _E),
        ("ripstop_fabric_add_machines", c_int, c_void_p, c_char_p, c_uint32, c_char_p, _E),
        ("ripstop_fabric_set_class", c_int, c_void_p, c_uint32, c_char_p, c_char_p, _E),
        ("ripstop_fabric_set_cc", c_int, c_void_p, c_char_p, c_char_p, _E),
        ("ripstop_fabric_add_flows", c_int, c_void_p, c_char_p, c_void_p, c_size_t, c_size_t, _E),
        ("ripstop_fabric_add_what_if", c_int, c_void_p, c_char_p, c_char_p, c_char_p, _E),
        ("ripstop_fabric_check", c_int, c_void_p, POINTER(FabricFacts), _E),
        ("ripstop_fabric_yaml", c_int, c_void_p, _O, _E),
        ("ripstop_simulate", c_int, c_void_p, POINTER(SimOptions), _O, _E),
        ("ripstop_session_new", c_int, c_void_p, POINTER(SessionOptions), _O, _E),
        ("ripstop_session_free", None, c_void_p),
        ("ripstop_session_now", c_int64, c_void_p),
        ("ripstop_session_send", c_int, c_void_p, POINTER(Flow), c_uint64, _E),
        ("ripstop_session_at", c_int, c_void_p, c_int64, c_uint64, _E),
        ("ripstop_session_run", c_int, c_void_p, c_int64, _E),
        ("ripstop_session_news", c_size_t, c_void_p, c_void_p, c_size_t, c_size_t),
        ("ripstop_session_unfinished", c_uint64, c_void_p),
        ("ripstop_session_end", c_int, c_void_p, _O, _E),
        ("ripstop_result_free", None, c_void_p),
        ("ripstop_result_summary", None, c_void_p, POINTER(Summary)),
        ("ripstop_result_endpoint", c_char_p, c_void_p, c_uint32),
        ("ripstop_result_json", c_int, c_void_p, _O, _E),
        ("ripstop_result_jobs", c_size_t, c_void_p, c_uint32, c_size_t, c_size_t, c_void_p, c_size_t),
        ("ripstop_result_flows", c_size_t, c_void_p, c_uint32, c_size_t, c_size_t, c_void_p, c_size_t),
        ("ripstop_result_rates", c_size_t, c_void_p, c_size_t, c_size_t, c_void_p, c_size_t),
        ("ripstop_result_sent", c_size_t, c_void_p, c_size_t, c_size_t, c_void_p),
        ("ripstop_result_counters", c_int, c_void_p, c_uint32, POINTER(Counters)),
        ("ripstop_result_drops", c_size_t, c_void_p, c_size_t, c_size_t, c_void_p, c_size_t),
        ("ripstop_result_pauses", c_size_t, c_void_p, c_size_t, c_size_t, c_void_p, c_size_t),
        ("ripstop_result_runs", c_size_t, c_void_p, c_size_t, c_size_t, c_void_p, c_size_t),
        ("ripstop_result_causes", c_size_t, c_void_p, c_size_t, c_size_t, c_void_p, c_size_t),
        ("ripstop_audit_new", c_int, _O, _E),
        ("ripstop_audit_free", None, c_void_p),
        ("ripstop_audit_read", c_int, c_void_p, c_char_p, c_char_p, _E),
        ("ripstop_audit_read_older", c_int, c_void_p, c_char_p, _E),
        ("ripstop_audit_read_text", c_int, c_void_p, c_char_p, c_char_p, c_char_p, _E),
        ("ripstop_audit_run", c_int, c_void_p, POINTER(AuditOptions), _E),
        ("ripstop_audit_status", c_int, c_void_p, c_int, c_int),
        ("ripstop_audit_json", c_int, c_void_p, _O, _E),
        ("ripstop_audit_findings", c_size_t, c_void_p, c_size_t, c_size_t, c_void_p, c_size_t),
        ("ripstop_audit_places", c_size_t, c_void_p, c_size_t, c_size_t, c_size_t, c_void_p, c_size_t),
        ("ripstop_audit_evidence", c_size_t, c_void_p, c_size_t, c_size_t, c_size_t, c_void_p, c_size_t),
        ("ripstop_audit_fixes", c_size_t, c_void_p, c_size_t, c_size_t, c_size_t, c_void_p, c_size_t),
        ("ripstop_audit_needs", c_size_t, c_void_p, c_size_t, c_size_t, c_size_t, c_void_p, c_size_t),
        ("ripstop_audit_files", c_size_t, c_void_p, c_size_t, c_size_t, c_void_p, c_size_t),
        ("ripstop_nic_create", c_int, POINTER(NicConfig), _O, _E),
        ("ripstop_nic_destroy", None, c_void_p),
        ("ripstop_nic_register", c_int, c_void_p, c_uint32, c_void_p, c_uint64, c_uint64, c_uint32,
         POINTER(c_uint32), _E),
        ("ripstop_nic_deregister", c_int, c_void_p, c_uint32, _E),
        ("ripstop_nic_create_cq", c_int, c_void_p, c_uint32, _O, _E),
        ("ripstop_cq_poll", c_uint32, c_void_p, c_void_p, c_uint32, c_size_t),
        ("ripstop_cq_overrun", c_int, c_void_p),
        ("ripstop_cq_destroy", c_int, c_void_p, _E),
        ("ripstop_nic_create_qp", c_int, c_void_p, POINTER(QpConfig), _O, _E),
        ("ripstop_qp_destroy", None, c_void_p),
        ("ripstop_qp_number", c_uint32, c_void_p),
        ("ripstop_qp_rate", c_int64, c_void_p),
        ("ripstop_qp_connect", c_int, c_void_p, POINTER(QpPeer), c_int64, _E),
        ("ripstop_qp_get_state", c_int, c_void_p),
        ("ripstop_qp_set_state", c_int, c_void_p, c_int, c_int64, _E),
        ("ripstop_qp_send", c_int, c_void_p, POINTER(Send), c_int64, _E),
        ("ripstop_qp_receive", c_int, c_void_p, c_uint64, POINTER(Sge), c_uint8, _E),
        ("ripstop_nic_receive", c_int, c_void_p, c_char_p, c_size_t, c_int64, _E),
        ("ripstop_nic_send", c_long, c_void_p, c_void_p, c_size_t, c_int64, POINTER(c_int64), _E),
        ("ripstop_nic_deadline", c_int64, c_void_p),
        ("ripstop_nic_expire", c_int, c_void_p, c_int64, _E),
        ("ripstop_nic_counters", None, c_void_p, POINTER(NicCounters))):
    _declare(_name, _result, *_arguments)


def text(value):
    """A str for C; None stays None."""
    return value.encode() if isinstance(value, str) else value


def words(value):
    """A text of C's as a str."""
    return value.decode(errors="replace") if value is not None else None


def take_error(e):
    """The error at a pointer as an exception; frees it."""
    try:
        return Error(words(lib.ripstop_error_text(e)), lib.ripstop_error_code(e),
                     words(lib.ripstop_error_message(e)), words(lib.ripstop_error_file(e)),
                     lib.ripstop_error_line(e), lib.ripstop_error_column(e), words(lib.ripstop_error_hint(e)))
    finally:
        lib.ripstop_error_free(e)


def call(function, *arguments):
    """Calls a function whose last argument takes an error; raises it."""
    e = c_void_p()
    result = function(*arguments, byref(e))
    if result < 0:
        raise take_error(e) if e else Error(os.strerror(-result), result)
    if e:  # an answer that is no failure, and says why
        lib.ripstop_error_free(e)
    return result


def make(function, *arguments):
    """Calls a function that puts an object behind its arguments."""
    out = c_void_p()
    call(function, *arguments, byref(out))
    return out.value


def take_text(pointer):
    """A text that is ours to free."""
    try:
        return ctypes.string_at(pointer).decode()
    finally:
        lib.ripstop_free(pointer)
