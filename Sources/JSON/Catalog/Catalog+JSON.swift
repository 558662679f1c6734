package import CatalogModel

// Each entity is one object, as `journal replay --json` prints it. The documentation and scripts rely on this.
extension Catalog.Category {
  /// Writes `{"id":1,"name":"Europe","color":null,"created":3,"modified":3}`.
  package func write(to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("id", id.number)
      writer.member("name", name)
      writer.member("color", color?.hex)
      writer.member("created", created)
      writer.member("modified", modified)
    }
  }
}

extension Catalog.Item {
  /// Writes `{"id":1,"kind":"countries","category":1,"attributes":{…},"images":[1],"created":3,"modified":17}`.
  /// - Parameter catalog: the catalog of the item and its images.
  package func write(to writer: inout JSONWriter, in catalog: Catalog) {
    writer.object { writer in
      writer.member("id", id.number)
      writer.member("kind", kind)
      writer.member("category", category?.number)
      writer.member("attributes", .dictionary(attributes))
      writer.array("images", of: catalog.imagesByItem.members(of: id.number)) { $0.integer($1) }
      writer.member("created", created)
      writer.member("modified", modified)
    }
  }
}

extension Catalog.Image {
  /// Writes `{"id":1,"item":1,"name":"deu.svg","mediaType":"image/svg+xml","byteCount":123,"sha256":"…",`
  /// `"created":3,"modified":3}`.
  package func write(to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("id", id.number)
      writer.member("item", item.number)
      writer.member("name", name)
      writer.member("mediaType", mediaType)
      writer.member("byteCount", blob.byteCount)
      writer.member("sha256", blob.digest.hex)
      writer.member("created", created)
      writer.member("modified", modified)
    }
  }
}

extension Catalog.Tag {
  /// Writes `{"id":1,"name":"before-import","revision":7}`.
  package func write(to writer: inout JSONWriter) {
    writer.object { writer in
      writer.member("id", id.number)
      writer.member("name", name)
      writer.member("revision", revision)
    }
  }
}

extension Catalog {
  /// Writes one entity, or null if it does not exist.
  package func write(_ entity: EntityKey, to writer: inout JSONWriter) {
    switch entity.kind {
    case .category:
      if let found = category(EntityID(entity.number)) { return found.write(to: &writer) }
    case .item:
      if let found = item(EntityID(entity.number)) { return found.write(to: &writer, in: self) }
    case .image:
      if let found = image(EntityID(entity.number)) { return found.write(to: &writer) }
    case .tag:
      if let found = tags.first(where: { $0.id.entity == entity }) { return found.write(to: &writer) }
    default: break
    }
    writer.null()
  }
}
