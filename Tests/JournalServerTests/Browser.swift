import Foundation
import TestSupport

/// A real browser: headless Chromium, driven by its WebDriver.
///
/// If they are not installed, tests that need them are skipped. `Tools/requirements.bash` installs both on Debian.
final class Browser {
  static let isInstalled = version(of: "chromedriver").map { $0 == version(of: "chromium") } ?? false

  /// The main version of a program; nil if it is not installed. A driver serves browsers of its own version only.
  private static func version(of program: String) -> Substring? {
    guard let path = path(of: program), let said = try? Programs.run(path, ["--version"]).output else {
      return nil
    }
    return String(decoding: said, as: UTF8.self).firstMatch(of: /[0-9]+/)?.output
  }

  private static func path(of program: String) -> String? {
    (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(program)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  private var driver = Process()
  private var port: UInt16 = 0
  private var session = ""

  init(width: Int = 1280, height: Int = 860) throws {
    // A random port, because the driver can't be told to choose a free one. It ends at once if another program has it.
    for _ in 0..<10 where !driver.isRunning {
      repeat { port = UInt16.random(in: 20_000...29_999) } while (try? Client(port: port)) != nil
      driver = Process()
      driver.executableURL = URL(fileURLWithPath: Self.path(of: "chromedriver") ?? "")
      driver.arguments = ["--port=\(port)"]
      driver.standardOutput = FileHandle.nullDevice
      driver.standardError = FileHandle.nullDevice
      try driver.run()
      let end = Date() + 300
      while (try? command("GET", "/status")) == nil, driver.isRunning, Date() < end { usleep(50_000) }
    }
    let arguments = [
      "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
      "--window-size=\(width),\(height)",
    ]
    let answer = try command(
      "POST", "/session",
      [
        "capabilities": [
          "alwaysMatch": [
            "browserName": "chrome", "goog:chromeOptions": ["args": arguments],
            "goog:loggingPrefs": ["browser": "ALL"],
          ]
        ]
      ])
    session = "/session/\((answer as? [String: Any])?["sessionId"] as? String ?? "")"
  }

  deinit {
    _ = try? command("DELETE", session)
    guard driver.isRunning else { return }
    // Tests may run on threads that block other signals, which the process inherits.
    kill(driver.processIdentifier, SIGKILL)
    driver.waitUntilExit()
  }

  /// Sends a command of the WebDriver protocol, and returns the value of the answer.
  @discardableResult
  private func command(_ method: String, _ path: String, _ body: [String: Any]? = nil) throws -> Any? {
    let client = try Client(port: port, timeout: 300)
    let data =
      try body.map { try JSONSerialization.data(withJSONObject: $0) }
      ?? (method == "POST" ? Data("{}".utf8) : Data())
    let head =
      "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nContent-Type: application/json\r\n"
      + "Content-Length: \(data.count)\r\nConnection: close\r\n\r\n"
    client.send(Array(head.utf8) + Array(data))
    let answer = try Answer(client.receiveAnswer())
    let value = (try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])?["value"]
    guard answer.status == 200 else {
      throw ClientFailure(description: "\(path): \(answer.text.prefix(400))")
    }
    return value
  }

  func open(_ url: String) throws { try command("POST", session + "/url", ["url": url]) }

  func reload() throws { try command("POST", session + "/refresh") }

  func back() throws { try command("POST", session + "/back") }

  /// The address of the page, without the host.
  func address() throws -> String {
    try text("return location.pathname + location.search")
  }

  /// Runs a function's body in the page.
  @discardableResult
  func run(_ script: String) throws -> Any? {
    try command("POST", session + "/execute/sync", ["script": script, "args": [String]()])
  }

  /// Runs a function's body in the page and waits for the promise that it returns.
  func runAsync(_ script: String) throws -> Any? {
    try command(
      "POST", session + "/execute/async",
      [
        "script":
          "const done = arguments[arguments.length - 1];"
          + "(async () => { \(script) })().then(done, (e) => done(String(e)))",
        "args": [String](),
      ])
  }

  /// Sends a command of the browser's own protocol.
  @discardableResult
  func tell(_ command: String, _ parameters: [String: Any]) throws -> Any? {
    try self.command("POST", session + "/goog/cdp/execute", ["cmd": command, "params": parameters])
  }

  /// Grants the page a permission, as a person does when asked.
  func permit(_ name: String) throws {
    try command(
      "POST", session + "/permissions", ["descriptor": ["name": name], "state": "granted"])
  }

  /// The page as a PDF, as it would be printed.
  func printed() throws -> Data {
    Data(base64Encoded: try command("POST", session + "/print") as? String ?? "") ?? Data()
  }

  /// Writes screenshots to the folder that `JOURNAL_SCREENSHOTS` names, if it is set, for people to look at.
  func photograph(_ name: String) throws {
    guard let folder = ProcessInfo.processInfo.environment["JOURNAL_SCREENSHOTS"] else { return }
    for (width, height) in [(1280, 860), (390, 844)] {
      for theme in ["light", "dark"] {
        try tell(
          "Emulation.setDeviceMetricsOverride",
          ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600])
        try tell(
          "Emulation.setEmulatedMedia", ["features": [["name": "prefers-color-scheme", "value": theme]]])
        usleep(300_000)
        let image = try command("GET", session + "/screenshot") as? String ?? ""
        try Data(base64Encoded: image)?.write(
          to: URL(filePath: folder).appending(path: "\(name)-\(width)-\(theme).png"))
      }
    }
    try tell("Emulation.clearDeviceMetricsOverride", [:])
    try tell("Emulation.setEmulatedMedia", ["features": [[String: String]]()])
  }

  func text(_ script: String) throws -> String { try run(script) as? String ?? "" }

  /// Presses keys one after the other, as a person does. Keys without a letter have a code of WebDriver's (`Key`).
  func press(_ keys: String...) throws {
    let actions = keys.flatMap { key in ["keyDown", "keyUp"].map { ["type": $0, "value": key] } }
    try command(
      "POST", session + "/actions", ["actions": [["type": "key", "id": "keys", "actions": actions]]])
  }

  /// Drags with the mouse between two fractions of an element's width.
  func drag(_ selector: String, from first: Double, to second: Double) throws {
    let box = try run(
      "const b = document.querySelector('\(selector)').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]"
    )
    guard let box = box as? [Double] else { throw ClientFailure(description: "no \(selector)") }
    func point(_ place: Double) -> [String: Any] {
      [
        "type": "pointerMove", "duration": 60, "x": Int(box[0] + box[2] * place),
        "y": Int(box[1] + box[3] / 2),
      ]
    }
    try command(
      "POST", session + "/actions",
      [
        "actions": [
          [
            "type": "pointer", "id": "mouse",
            "actions": [
              point(first), ["type": "pointerDown", "button": 0], point((first + second) / 2), point(second),
              ["type": "pointerUp", "button": 0],
            ],
          ]
        ]
      ])
  }

  func click(_ selector: String) throws { try run("document.querySelector(`\(selector)`).click()") }

  /// Waits until a condition holds in the page.
  /// - Throws: ``ClientFailure`` with the text of the page if it does not hold within five minutes.
  func wait(_ condition: String) throws {
    let end = Date() + 300
    while Date() < end {
      if try run("try { return Boolean(\(condition)) } catch { return false }") as? Bool == true { return }
      usleep(30_000)
    }
    let shown = try text("return document.body.innerText.slice(0, 1500)")
    throw ClientFailure(description: "the condition never held: \(condition)\n\(try address())\n\(shown)")
  }

  /// What scripts and the browser complained about.
  func complaints() throws -> [String] {
    let entries = try command("POST", session + "/se/log", ["type": "browser"]) as? [[String: Any]] ?? []
    return entries.compactMap { $0["message"] as? String }
  }

  /// The codes of keys.
  enum Key {
    static let left = "\u{E012}"
    static let right = "\u{E014}"
    static let down = "\u{E015}"
    static let enter = "\u{E007}"
    static let escape = "\u{E00C}"
    static let tab = "\u{E004}"
    static let end = "\u{E010}"
    static let space = " "
  }
}
