/* The built-in grouping rules (docs/grouping.md, "Rules"): grouping_builtin.rules, as it was when
 * this program was built. GROUP_BUILTIN_VERSION counts up with every change of them. */
#include "collector/embed.h"
#include "collector/grouping_inner.h"

/* FW_GROUPING_RULES: the file's path. */
EMBED_TEXT(group_builtin_text, FW_GROUPING_RULES);
