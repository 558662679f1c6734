/// The page that shows a journal, and the description of the API. They are the other files of this folder, which are
/// embedded in the program.
package enum ViewerPage {
  /// A file that the page loads.
  package struct Asset: Sendable {
    package let mediaType: String
    package let bytes: [UInt8]
  }

  /// The document of every view.
  package static var index: [UInt8] { PackageResources.index_html }
  /// The OpenAPI description of the API.
  package static var openAPI: [UInt8] { PackageResources.openapi_json }

  /// The file at a path such as `/assets/app.js`, or nil if there is none.
  package static func asset(_ path: String) -> Asset? {
    guard path.hasPrefix("/assets/") else { return nil }
    return assets[String(path.dropFirst("/assets/".count))]
  }

  private static let assets: [String: Asset] = {
    let scripts = [
      "app.js": PackageResources.app_js, "api.js": PackageResources.api_js,
      "json.js": PackageResources.json_js, "dom.js": PackageResources.dom_js,
      "timeline.js": PackageResources.timeline_js, "items.js": PackageResources.items_js,
      "item.js": PackageResources.item_js, "entries.js": PackageResources.entries_js,
      "changes.js": PackageResources.changes_js, "edit.js": PackageResources.edit_js,
      "proof.js": PackageResources.proof_js,
    ]
    var assets = scripts.mapValues { Asset(mediaType: "text/javascript; charset=utf-8", bytes: $0) }
    assets["style.css"] = Asset(mediaType: "text/css; charset=utf-8", bytes: PackageResources.style_css)
    assets["icon.svg"] = Asset(mediaType: "image/svg+xml", bytes: PackageResources.icon_svg)
    return assets
  }()

  /// Whether a path is one of the page's views. `app.js` shows the view.
  package static func isView(_ path: String) -> Bool {
    path.wholeMatch(of: /\/(items(\/[0-9]+(\/report)?)?|entries(\/[0-9]+)?|compare|proof)?/) != nil
  }
}
