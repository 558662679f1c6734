import Foundation

/// The zone of this machine, which `--local` means.
enum LocalZone {
  /// Fails if Foundation can't read the zone of `TZ`, because it would silently take another one.
  static func check() throws(Failure) {
    guard let text = ProcessInfo.processInfo.environment["TZ"], !text.isEmpty, !isRead(text) else { return }
    throw Failure.wrongUse(
      "--local can't use the zone of TZ=\(text); set TZ to a name of the time zone database, such as Europe/Berlin or "
        + "UTC")
  }

  private static func isRead(_ text: String) -> Bool {
    let name = text.hasPrefix(":") ? String(text.dropFirst()) : text
    let zone = TimeZone(identifier: name)
    // If TZ names no zone that Foundation knows, Foundation takes UTC or the zone of /etc/localtime, which is right if TZ is
    // that path.
    guard zone != nil || name == "UTC0" || name.hasPrefix("/") else { return false }
    let now = Date()
    // One of the two dates may be in summer time.
    return [now, now.addingTimeInterval(182 * 86_400)].allSatisfy { date in
      let offset = TimeZone.current.secondsFromGMT(for: date)
      let others = [zone?.secondsFromGMT(for: date), systemOffset(at: date)]
      return others.allSatisfy { $0 == nil || $0 == offset }
    }
  }

  /// The C library's offset, which differs for zones such as GMT+3. Nil for 0, which the library also takes
  /// for unknown zones.
  private static func systemOffset(at date: Date) -> Int? {
    var seconds = time_t(date.timeIntervalSince1970)
    guard let offset = unsafe localtime(&seconds)?.pointee.tm_gmtoff, offset != 0 else { return nil }
    return offset
  }
}
