// The C compiler embeds the files of the page, because the Swift compiler takes 23 s for array literals of this size.

#include "CViewerPage.h"

// `#embed` is part of C23, and an extension in the standard that the package manager chooses.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char api_js[] = {
#embed "page/api.js"
};
static const unsigned char app_js[] = {
#embed "page/app.js"
};
static const unsigned char changes_js[] = {
#embed "page/changes.js"
};
static const unsigned char dom_js[] = {
#embed "page/dom.js"
};
static const unsigned char edit_js[] = {
#embed "page/edit.js"
};
static const unsigned char entries_js[] = {
#embed "page/entries.js"
};
static const unsigned char icon_svg[] = {
#embed "page/icon.svg"
};
static const unsigned char index_html[] = {
#embed "page/index.html"
};
static const unsigned char item_js[] = {
#embed "page/item.js"
};
static const unsigned char items_js[] = {
#embed "page/items.js"
};
static const unsigned char json_js[] = {
#embed "page/json.js"
};
static const unsigned char proof_js[] = {
#embed "page/proof.js"
};
static const unsigned char style_css[] = {
#embed "page/style.css"
};
static const unsigned char timeline_js[] = {
#embed "page/timeline.js"
};

static const struct CViewerPageFile files[] = {
    {"api.js", api_js, sizeof api_js},
    {"app.js", app_js, sizeof app_js},
    {"changes.js", changes_js, sizeof changes_js},
    {"dom.js", dom_js, sizeof dom_js},
    {"edit.js", edit_js, sizeof edit_js},
    {"entries.js", entries_js, sizeof entries_js},
    {"icon.svg", icon_svg, sizeof icon_svg},
    {"index.html", index_html, sizeof index_html},
    {"item.js", item_js, sizeof item_js},
    {"items.js", items_js, sizeof items_js},
    {"json.js", json_js, sizeof json_js},
    {"proof.js", proof_js, sizeof proof_js},
    {"style.css", style_css, sizeof style_css},
    {"timeline.js", timeline_js, sizeof timeline_js},
};

const struct CViewerPageFile *CViewerPageFile(size_t index) {
  return index < sizeof files / sizeof *files ? &files[index] : NULL;
}
