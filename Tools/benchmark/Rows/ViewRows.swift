import CatalogModel
import Foundation

/// The response times of the page of `journal view` over large journals, in a real browser with the program's own
/// server.
func viewRows(_ bench: Workbench) async throws -> [ReportRow] {
  guard bench.rows.contains(.view) else { return [] }
  let log = try await SampleLog(bench, entries: bench.isQuick ? 50_000 : 1_000_000)
  try log.close()
  var rows = try viewRows(bench, log.url, "\(log.entries) entries")
  log.discard(bench)
  let count = bench.isQuick ? 5_000 : 100_000
  let pictures = try PictureJournal.make(bench, count: count)
  defer { bench.discard(pictures) }
  rows += try viewRows(bench, pictures, "\(count) images")
  return rows
}

private func viewRows(_ bench: Workbench, _ journal: URL, _ size: String) throws -> [ReportRow] {
  bench.progress.show("looking at a journal of \(size)")
  let page = try ServedPage(journal)
  let browser = try Browser()
  // The first item that is painted, counted from the beginning of the navigation.
  try browser.tell(
    "Page.addScriptToEvaluateOnNewDocument",
    [
      "source": """
      new MutationObserver((_, observer) => {
        if (!document.querySelector(".row .label")) return;
        observer.disconnect();
        requestAnimationFrame(() => { window.firstItem = performance.now() / 1000; });
      }).observe(document, { childList: true, subtree: true });
      """
    ])
  var paints: [Double] = []
  for round in 0...bench.rounds {
    try browser.open(round == 0 ? page.invitation : page.origin)
    let paint = try browser.measure(
      "while (!window.firstItem) await new Promise((go) => setTimeout(go, 5)); return window.firstItem;")
    paints += round == 0 ? [] : paint
  }
  // Waits for the whole timeline, which a thread reads after the opening.
  _ = try browser.measure(
    """
    while (true) {
      const { through, newest } = await (await fetch("/api/timeline")).json();
      if (through === newest) return 0;
      await new Promise((go) => setTimeout(go, 100));
    }
    """)
  let near = try browser.measure(presses("ArrowLeft", 100))
  let far = try browser.measure(
    """
    const newest = (await (await fetch("/api/journal")).json()).revision;
    const times = [];
    for (let step = 1; step <= 20; step += 1) {
      const place = document.getElementById("scrubber").getBoundingClientRect();
      const time = await shown(() => {
        for (const type of ["pointerdown", "pointerup"]) {
          document.getElementById("scrubber").dispatchEvent(new PointerEvent(type, { bubbles: true, pointerId: 1, button: 0, clientX: place.left + place.width * ((step * 7) % 20 + 0.5) / 20 }));
        }
      });
      if (time) times.push(time);
    }
    return times;
    \(shownFunction)
    """)
  let search = try browser.measure(
    """
    const times = [];
    for (const text of ["ab", "abc", "xyz", "q z", "zzzz"]) {
      const start = performance.now();
      await (await fetch(`/api/items?limit=60&text=${encodeURIComponent(text)}`)).json();
      times.push((performance.now() - start) / 1000);
    }
    return times;
    """)
  try browser.tell("HeapProfiler.collectGarbage")
  let heap = try browser.tell("Runtime.getHeapUsage")["usedSize"] as? Double ?? 0
  func limit(_ figures: [Double], _ most: Double, _ name: String) -> [Comparison] {
    [
      Comparison(
        peer: name, figure: Spread([most]), ratio: Spread(figures.map { $0 / most }), wanted: .atMost(1))
    ]
  }
  let memory = [Double(try page.residentByteCount())]
  let mebi = Double(1 << 20)
  return [
    ReportRow(
      .view, "first item painted, \(size)", .seconds, Spread(paints), against: limit(paints, 1, "1 s")),
    ReportRow(
      .view, "from ← to the state shown, \(size)", .seconds, Spread(near), against: limit(near, 0.05, "50 ms")
    ),
    ReportRow(
      .view, "from a click on the timeline to the state shown, \(size)", .seconds, Spread(far),
      against: limit(far, 1, "1 s")),
    ReportRow(
      .view, "answer to a search for a text, \(size)", .seconds, Spread(search),
      against: limit(search, 0.3, "300 ms")),
    ReportRow(
      .view, "memory of the server, \(size)", .bytes, Spread(memory),
      against: limit(memory, 512 * mebi, "512 MiB")),
    ReportRow(
      .view, "heap of the page, \(size)", .bytes, Spread([heap]),
      against: limit([heap], 32 * mebi, "32 MiB")),
  ]
}

/// Measures from an action until the list shows another state and the browser has a frame for it; 0 if the action leads
/// to the state that is shown.
private let shownFunction = """
  async function shown(act) {
    const [start, before] = [performance.now(), location.search];
    const isShown = new Promise((go) => {
      const observer = new MutationObserver(() => { observer.disconnect(); requestAnimationFrame(go); });
      observer.observe(document.querySelector(".space"), { childList: true });
    });
    act();
    if (location.search === before) return 0;
    await isShown;
    return (performance.now() - start) / 1000;
  }
  """

private func presses(_ key: String, _ count: Int) -> String {
  """
  const times = [];
  for (let step = 0; step < \(count); step += 1) {
    const time = await shown(() => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "\(key)", bubbles: true })));
    if (time) times.push(time);
  }
  return times;
  \(shownFunction)
  """
}

/// A running `journal view`.
private final class ServedPage {
  /// The address that was printed; it opens the page once.
  let invitation: String
  private let program = Process()

  init(_ journal: URL) throws {
    let output = Pipe()
    program.executableURL = try commandLineProgram()
    program.arguments = ["view", journal.path, "--no-browser"]
    program.standardOutput = output
    program.standardError = FileHandle.nullDevice
    try program.run()
    var line = Data()
    while !line.contains(UInt8(ascii: "\n")) {
      let piece = output.fileHandleForReading.availableData
      guard !piece.isEmpty else { throw PeerFailure(description: "journal view ended.") }
      line += piece
    }
    invitation = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .newlines)
  }

  deinit {
    program.terminate()
    program.waitUntilExit()
  }

  /// The address for a browser that has a session.
  var origin: String { String(invitation.prefix { $0 != "?" }) }

  /// The peak memory of the server.
  func residentByteCount() throws -> Int {
    try highestResidentByteCount(of: "\(program.processIdentifier)")
  }
}

/// A journal whose items have an image each.
private enum PictureJournal {
  static func make(_ bench: Workbench, count: Int) throws -> URL {
    bench.progress.show("writing a journal of \(count) images")
    let url = bench.newPath("pictures.journal")
    let journal = try CatalogJournal.create(at: url)
    let step = 500
    for start in stride(from: 0, to: count, by: step) {
      let numbers = start..<min(start + step, count)
      let blobs = try numbers.map { number in
        try journal.blobs.add(
          Data(
            """
            <svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><rect width="64" height="64" \
            fill="hsl(\(number % 360) 60% 60%)"/><text x="4" y="36">\(number)</text></svg>
            """.utf8))
      }
      try journal.commit(by: "ana", note: "images from \(start)") { draft in
        for (number, blob) in zip(numbers, blobs) {
          let item = try draft.addItem(kind: "picture", attributes: ["title": .string("Picture \(number)")])
          try draft.addImage(to: item, name: "\(number).svg", mediaType: "image/svg+xml", blob: blob)
        }
      }
    }
    try journal.close()
    return url
  }
}
