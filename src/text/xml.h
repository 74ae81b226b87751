/* A text as XML, and its elements. Nothing is fetched from elsewhere. */
#ifndef RS_TEXT_XML_H
#define RS_TEXT_XML_H

#include <libxml/parser.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/load.h"

/* NULL: not XML. The caller frees it with xmlFreeDoc(). */
static inline xmlDoc *rs_xml_parse(const char *text, size_t n)
{
	return xmlReadMemory(text, (int)n, NULL, NULL,
			     XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
}

/* The same of a stranger's file, l->name: refused with its place when it is no XML or defines
 * entities. NULL after an error. */
xmlDoc *rs_xml_load(struct rs_load *l, const char *text, size_t n, const xmlNode **root);

static inline bool rs_xml_is(const xmlNode *n, const char *name)
{
	return n->type == XML_ELEMENT_NODE && !strcmp((const char *)n->name, name);
}

/* False, and an empty text: it has none of this name, or an empty one. */
static inline bool rs_xml_attribute(xmlNode *n, const char *name, char *buf, size_t size)
{
	xmlChar *v = xmlGetProp(n, (const xmlChar *)name);

	*buf = '\0';
	if (!v)
		return false;
	snprintf(buf, size, "%s", (const char *)v);
	xmlFree(v);
	return *buf != '\0';
}

#endif
