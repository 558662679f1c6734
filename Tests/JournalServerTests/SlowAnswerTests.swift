import CatalogModel
import Foundation
import JournalServer
import TestSupport
import Testing

// What the page does if an answer of the server comes late, or not at all.
extension PageTests {
  /// From now on, answers from addresses with that part come after `release()` or, after `refuse()`, fail. The promises
  /// of them are in `held`.
  private func hold(_ part: String, in browser: Browser) throws {
    try browser.run(
      """
      window.real = fetch;
      window.held = [];
      const end = new Promise((resolve, reject) => { window.release = resolve; window.refuse = () => reject(new TypeError()); });
      window.fetch = (address, options) => {
        if (!address.includes('\(part)')) return real(address, options);
        const answer = end.then(() => real(address, options));
        held.push(answer);
        return answer;
      };
      """)
  }

  /// Waits until the page has handled the held answers: until the server has answered a later request too.
  private func settle(_ end: String, in browser: Browser) throws {
    _ = try browser.runAsync(
      "\(end)(); await Promise.allSettled(held); await (await real('/api/timeline?buckets=10')).text();")
  }

  /// Shows a view without loading the page again.
  private func show(_ address: String, in browser: Browser) throws {
    try browser.run("history.pushState(null, '', '\(address)'); dispatchEvent(new PopStateEvent('popstate'))")
  }

  @Test func aLateAnswerDoesNotReplaceTheNextView() throws {
    try withPage { served, browser in
      for (address, part) in [
        ("/proof", "/api/journal"), ("/entries/9", "/api/entries/r9"), ("/items/2/report", "/history"),
        ("/items/2/report", "/blame"),
      ] {
        try browser.open("http://\(served.host)/")
        try browser.wait("document.querySelectorAll('.row').length == 3")
        try hold(part, in: browser)
        try show(address, in: browser)
        try browser.wait("held.length > 0")
        try show("/compare", in: browser)
        try browser.wait("document.querySelector('h1')?.innerText == 'Compare'")
        try settle("release", in: browser)
        let heading = try browser.text("return document.querySelector('h1').innerText")
        #expect(heading == "Compare", "\(address) \(part)")
      }
    }
  }

  @Test func theRestOfAListCanBeLoadedAfterAnAnswerFailed() throws {
    try withPage { served, browser in
      for number in 1...60 {
        try served.journal.commit(by: "eve") { try $0.updateItem(2, set: ["n": .integer(Int64(number))]) }
      }
      try served.journal.commit(by: "eve") { draft in
        for _ in 1...250 { try draft.addItem(kind: "leaf", attributes: [:]) }
      }
      let newest = served.journal.head.revision
      let more =
        "[...document.querySelectorAll('#main button')].find((b) => /Older|more/.test(b.innerText))"
      for (address, row, count) in [
        ("/entries", ".entries li", newest), ("/entries/\(newest)", ".change", 250),
        ("/compare?from=\(newest - 1)&to=\(newest)", ".change", 250),
      ] {
        let shown = "document.querySelectorAll('#main \(row)').length"
        try browser.open("http://\(served.host)\(address)")
        try browser.wait(more)
        let before = try browser.run("return \(shown)") as? Int
        try hold("/api/", in: browser)
        try browser.run("\(more).click()")
        try browser.wait("held.length > 0")
        try settle("refuse", in: browser)
        let alert = "document.querySelector('#main [role=alert]')"
        try browser.wait("\(alert).innerText.includes('does not respond')")
        #expect(try browser.run("return \(shown)") as? Int == before, "\(address)")
        try browser.run("window.fetch = real")
        try browser.wait("(\(more)?.click(), \(shown) == \(count) && !\(more))")
        #expect(try browser.run("return \(alert) == null") as? Bool == true)
      }
    }
  }

  @Test func thePreviewThatWasRequestedLastIsShown() throws {
    try withPage { served, browser in
      try browser.open("http://\(served.host)/items/1?at=1")
      try browser.wait("document.getElementById('restore-item')")
      try hold("/api/restore", in: browser)
      try browser.click("#restore-item")
      try browser.wait("held.length == 1")
      try browser.run("window.fetch = real")
      try browser.click("#keep-new")
      try browser.wait("!document.getElementById('confirm').disabled")
      try settle("refuse", in: browser)
      #expect(try browser.run("return Boolean(document.querySelector('dialog .change'))") as? Bool == true)
    }
  }

  /// At 620 pixels, rows were farther apart than they are high. On a phone, an arrow key scrolled by less than a row.
  @Test func rowsHaveTheHeightByWhichTheListScrolls() throws {
    try withBooks { served in
      try served.journal.commit { draft in
        for _ in 1...100 { try draft.addItem(kind: "leaf", attributes: [:]) }
      }
      let browser = try Browser()
      try browser.open(served.server.invitation().absoluteString)
      for width in [390, 620, 1280] {
        try browser.tell(
          "Emulation.setDeviceMetricsOverride",
          ["width": width, "height": 844, "deviceScaleFactor": 1, "mobile": false])
        try browser.open("http://\(served.host)/")
        try browser.wait("document.querySelectorAll('.row').length > 5")
        let heights = try browser.run(
          """
          const [first, second] = document.querySelectorAll('.row');
          [...document.querySelectorAll('.row')].at(-1).focus({ preventScroll: true });
          return [first.offsetHeight, second.offsetTop - first.offsetTop, document.querySelector('.scroller').scrollTop];
          """)
        let expected = width < 600 ? 60 : 44
        #expect(heights as? [Int] == [expected, expected, 0])
        try browser.press(Browser.Key.down)
        try browser.wait("document.querySelector('.scroller').scrollTop > 0")
        #expect(try browser.run("return document.querySelector('.scroller').scrollTop") as? Int == expected)
      }
      #expect(try browser.complaints() == [])
    }
  }
}
