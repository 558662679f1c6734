package import CatalogModel

// Each entity is one JSON object. Documentation and scripts rely on the names of the members.
extension Catalog.Category {
  package var json: JSONObject {
    ["id": id.number, "name": name, "color": color?.hex, "created": created, "modified": modified]
  }
}

extension Catalog.Item {
  package func json(in catalog: Catalog) -> JSONObject {
    [
      "id": id.number, "kind": kind, "category": category?.number,
      "attributes": FieldValue.dictionary(attributes),
      "images": Array(catalog.imagesByItem.members(of: id.number)), "created": created, "modified": modified,
    ]
  }
}

extension Catalog.Image {
  package var json: JSONObject {
    [
      "id": id.number, "item": item.number, "name": name, "mediaType": mediaType, "byteCount": blob.byteCount,
      "sha256": blob.digest.hex, "created": created, "modified": modified,
    ]
  }
}

extension Catalog {
  package func json(of entity: EntityKey) -> JSONObject? {
    switch entity.kind {
    case .category: category(EntityID(entity.number))?.json
    case .item: item(EntityID(entity.number))?.json(in: self)
    case .image: image(EntityID(entity.number))?.json
    case .tag:
      tag(EntityID(entity.number)).map { ["id": $0.id.number, "name": $0.name, "revision": $0.revision] }
    case .rule:
      record(of: entity).flatMap { record in
        [
          "id": entity.number, "form": record[field: 0], "kind": record[field: 1],
          "attributes": FieldValue.dictionary(record.attributes), "text": Self.label(of: record, of: .rule),
        ]
      }
    default: nil
    }
  }
}
