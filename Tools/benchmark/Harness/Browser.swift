import Foundation

/// Headless Chromium, driven through its WebDriver. curl sends the requests.
final class Browser {
  private let driver = Process()
  private let address: String
  private var session = ""

  /// - Throws: ``PeerFailure`` if chromium, chromedriver or curl is not there.
  init() throws {
    let port = Int.random(in: 30_000...39_999)
    address = "http://127.0.0.1:\(port)"
    driver.executableURL = URL(filePath: "/usr/bin/env")
    driver.arguments = ["chromedriver", "--port=\(port)"]
    driver.standardOutput = FileHandle.nullDevice
    driver.standardError = FileHandle.nullDevice
    try driver.run()
    let end = ContinuousClock.now + .seconds(20)
    while (try? send("GET", "/status")) == nil {
      guard driver.isRunning, ContinuousClock.now < end else {
        throw PeerFailure(description: "The rows of the viewer need chromium, chromedriver and curl.")
      }
      usleep(50_000)
    }
    let arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    let options: [String: Any] = [
      "browserName": "chrome", "goog:chromeOptions": ["args": arguments], "timeouts": ["script": 120_000],
    ]
    let made = try send("POST", "/session", ["capabilities": ["alwaysMatch": options]])
    session = "/session/\((made as? [String: Any])?["sessionId"] as? String ?? "")"
  }

  deinit {
    _ = try? send("DELETE", session)
    // The benchmark ignores SIGINT and SIGTERM, and the child inherits that.
    kill(driver.processIdentifier, SIGKILL)
    driver.waitUntilExit()
  }

  func open(_ address: String) throws { try send("POST", session + "/url", ["url": address]) }

  /// Sends a command of the Chrome DevTools Protocol.
  @discardableResult
  func tell(_ command: String, _ parameters: [String: Any] = [:]) throws -> [String: Any] {
    try send("POST", session + "/goog/cdp/execute", ["cmd": command, "params": parameters])
      as? [String: Any] ?? [:]
  }

  /// Runs the body of an asynchronous function in the page, and waits for the number or the numbers that it returns.
  func measure(_ script: String) throws -> [Double] {
    let body =
      "const done = arguments[0]; (async () => { \(script) })().then(done, (error) => done(String(error)));"
    let found = try send("POST", session + "/execute/async", ["script": body, "args": [String]()])
    if let numbers = found as? [Double] { return numbers }
    guard let number = found as? Double else {
      throw PeerFailure(description: "The page says: \(found ?? "nothing")")
    }
    return [number]
  }

  @discardableResult
  private func send(_ method: String, _ path: String, _ body: [String: Any]? = nil) throws -> Any? {
    var arguments = ["-s", "-X", method, address + path, "-H", "Content-Type: application/json"]
    if let body {
      arguments += [
        "--data-binary", String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self),
      ]
    }
    let answer = try output(of: "curl", arguments)
    let value = (try JSONSerialization.jsonObject(with: answer) as? [String: Any])?["value"]
    if let error = value as? [String: Any], let message = error["message"] as? String, error["error"] != nil {
      throw PeerFailure(description: "\(path): \(message.prefix(300))")
    }
    return value
  }
}
