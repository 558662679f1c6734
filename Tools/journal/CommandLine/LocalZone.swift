import Foundation

/// The time zone of this machine, in which `--local` reads and prints dates.
enum LocalZone {
  /// Throws an error if Foundation does not know the zone in `TZ`, for which it would silently use another one.
  static func check() throws(Failure) {
    guard let text = ProcessInfo.processInfo.environment["TZ"], !text.isEmpty, !isRead(text) else { return }
    throw Failure.wrongUse(
      "--local can't use the zone of TZ=\(text); set TZ to a name of the time zone database, such as Europe/Berlin or "
        + "UTC")
  }

  private static func isRead(_ text: String) -> Bool {
    let name = text.hasPrefix(":") ? String(text.dropFirst()) : text
    let zone = TimeZone(identifier: name)
    // If Foundation does not know the name in TZ, it uses UTC or the zone of /etc/localtime. That can be right only for
    // UTC0 and for a path.
    guard zone != nil || name == "UTC0" || name.hasPrefix("/") else { return false }
    let now = Date()
    // Two zones may differ only in summer, so dates half a year apart are compared.
    return [now, now.addingTimeInterval(182 * 86_400)].allSatisfy { date in
      let offset = TimeZone.current.secondsFromGMT(for: date)
      let others = [zone?.secondsFromGMT(for: date), systemOffset(at: date)]
      return others.allSatisfy { $0 == nil || $0 == offset }
    }
  }

  /// The C library's offset from UTC in seconds. For zones such as GMT+3, it differs from Foundation's. Nil if it is 0,
  /// because the library also uses 0 for zones that it does not know.
  private static func systemOffset(at date: Date) -> Int? {
    var seconds = time_t(date.timeIntervalSince1970)
    guard let offset = unsafe localtime(&seconds)?.pointee.tm_gmtoff, offset != 0 else { return nil }
    return offset
  }
}
