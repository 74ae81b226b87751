/* XML of strangers: parsed without a word on standard error, refused with its place. */
#include <errno.h>
#include "text/xml.h"

/* libxml2 reports a broken encoding here whatever the options say. */
__attribute__((format(printf, 2, 3))) static void silent(void *context, const char *fmt, ...)
{
}

static void not_xml(struct rs_load *l)
{
	const xmlError *why = xmlGetLastError();
	struct rs_where at = {l->name, why && why->line > 0 ? why->line : 1,
			      why && why->int2 > 0 ? why->int2 : 1};

	rs_load_fail(l, -EINVAL, at, "not XML: %.*s",
		     why && why->message ? (int)strcspn(why->message, "\n") : 5,
		     why && why->message ? why->message : "empty");
}

xmlDoc *rs_xml_load(struct rs_load *l, const char *text, size_t n, const xmlNode **root)
{
	xmlDoc *doc;

	xmlResetLastError();
	xmlSetGenericErrorFunc(NULL, silent);
	doc = rs_xml_parse(text, n);
	*root = doc ? xmlDocGetRootElement(doc) : NULL;
	if (!*root)
		not_xml(l);
	else if (doc->intSubset && doc->intSubset->entities)
		rs_load_fail(l, -EINVAL, (struct rs_where){l->name, 1, 1},
			     "XML that defines entities: no topology has some");
	xmlSetGenericErrorFunc(NULL, NULL);
	if (l->err) {
		xmlFreeDoc(doc);
		return NULL;
	}
	return doc;
}
