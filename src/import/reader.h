/* Private to import/: a host being read out of another tool's XML. */
#ifndef RS_IMPORT_READER_H
#define RS_IMPORT_READER_H

#include "base/load.h"
#include "host/build.h"
#include "text/xml.h"

enum { XML_DEPTH_MAX = 64 };

struct import {
	struct rs_load *l;
	struct rs_host *h;
	int n_gpu, n_nic, n_bridge, n_other, n_socket;
};

/* What a PCI class is here: base class << 8 | sub-class. */
enum rs_part_kind import_class(unsigned class);
/* A part named by its prefix and the next number; NULL after an error. */
struct rs_part *import_named(struct import *m, enum rs_part_kind kind, const char *prefix, int *n);
struct rs_part *import_device(struct import *m, enum rs_part_kind kind);
/* An attribute's text in the arena; "" when absent. */
const char *import_attribute(struct import *m, const xmlNode *n, const char *name);

void import_hwloc(struct import *m, const xmlNode *root);

#endif
