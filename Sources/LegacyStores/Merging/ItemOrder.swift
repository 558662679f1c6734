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
    let rising = risingPlaces(elements)
    // Nil for an element that gets another number.
    var orders = elements.indices.map { rising.contains($0) ? elements[$0].order : nil }
    var index = 0
    while let start = orders[index...].firstIndex(of: nil) {
      let end = orders[start...].firstIndex { $0 != nil } ?? orders.count
      let (first, stride) = room(
        after: start > 0 ? orders[start - 1] : nil, before: end < orders.count ? orders[end] : nil,
        Int64(end - start))
      for place in start..<end { orders[place] = first + Int64(place - start) * stride }
      // Only numbers that leave no room are moved: an order that the user has changed is kept.
      index = end
      while index < orders.count, let last = orders[index - 1], let order = orders[index], order <= last {
        orders[index] = last + 1
        index += 1
      }
    }
    return zip(elements, orders).compactMap { element, order in
      order.flatMap { $0 == element.order ? nil : (element.item, $0) }
    }
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
