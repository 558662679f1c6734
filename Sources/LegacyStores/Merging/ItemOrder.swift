import CatalogModel
import Journaling

/// Gives the items of a list ascending order numbers, with as few changes as possible.
enum ItemOrder {
  /// The distance between new items, which leaves room for later ones.
  static let step: Int64 = 1_000

  struct Element {
    let item: Catalog.Item.ID
    /// Its earlier position in the list; nil for a new item.
    let place: Int?
    /// Its current number.
    let order: Int64?
  }

  /// The items whose number changes. These are the new and moved items and, if there is no room between two numbers,
  /// some of the items after them.
  static func changes(_ elements: [Element]) -> [(item: Catalog.Item.ID, order: Int64)] {
    let fixed = risingPlaces(elements)
    var changes: [(Catalog.Item.ID, Int64)] = []
    func change(_ element: Element, to order: Int64) {
      if element.order != order { changes.append((element.item, order)) }
    }
    var last: Int64?
    var isCrowded = false
    var index = 0
    while index < elements.count {
      if fixed.contains(index), let order = elements[index].order {
        // An order that the user has changed is kept. Only numbers of the import are changed.
        if isCrowded, let floor = last, order <= floor {
          last = floor + 1
          change(elements[index], to: floor + 1)
        } else {
          isCrowded = false
          last = order
        }
        index += 1
        continue
      }
      var end = index
      while end < elements.count, !(fixed.contains(end) && elements[end].order != nil) { end += 1 }
      let count = Int64(end - index)
      let next = end < elements.count ? elements[end].order : nil
      let (start, stride) = room(after: last, before: next, count)
      for offset in 0..<count {
        let order = start + offset * stride
        change(elements[index + Int(offset)], to: order)
        last = order
      }
      isCrowded = next.map { $0 <= (last ?? $0) } ?? false
      index = end
    }
    return changes
  }

  private static func room(after last: Int64?, before next: Int64?, _ count: Int64) -> (Int64, Int64) {
    // Numbers near the ends of their range have no meaning. They only must not overflow.
    let limit = Int64.max / 4
    let last = last.map { min(max($0, -limit), limit) }
    let next = next.map { min(max($0, -limit), limit) }
    switch (last, next) {
    case (nil, nil): return (step, step)
    case (let last?, nil): return (last + step, step)
    case (nil, let next?): return (next - count * step, step)
    case (let last?, let next?):
      let stride = max(1, (next - last) / (count + 1))
      return (last + stride, stride)
    }
  }

  /// The largest set of elements whose order is unchanged.
  private static func risingPlaces(_ elements: [Element]) -> Set<Int> {
    // The longest increasing subsequence, by patience sorting.
    var tails: [Int] = []
    var previous = [Int?](repeating: nil, count: elements.count)
    for (index, element) in elements.enumerated() {
      guard let place = element.place else { continue }
      let low = tails.partitioningIndex { elements[$0].place ?? 0 >= place }
      previous[index] = low > 0 ? tails[low - 1] : nil
      if low == tails.count { tails.append(index) } else { tails[low] = index }
    }
    var rising: Set<Int> = []
    var next = tails.last
    while let index = next {
      rising.insert(index)
      next = previous[index]
    }
    return rising
  }
}
