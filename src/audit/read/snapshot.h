/* Private to audit/: what a snapshot is known by. */
#ifndef RS_AUDIT_READ_SNAPSHOT_H
#define RS_AUDIT_READ_SNAPSHOT_H

/* The file that marks a directory as a snapshot: HOST/ripstop-snapshot. */
#define RS_SNAPSHOT_MARK "ripstop-snapshot"
/* The first line of the file that holds short files, "PATH<tab>CONTENT" each: thousands of files of
 * a few bytes are slow to unpack. */
#define RS_SNAPSHOT_FILES "# ripstop files 1"

#endif
