import CatalogModel
import Foundation
import JournalServer
import TestSupport
import Testing

/// The page in a real browser.
@Suite(.serialized, .enabled(if: Browser.isInstalled, "chromium and chromedriver are not installed"))
struct PageTests {
  /// Opens the page over a small journal: ten entries, the newest of which is the tenth.
  func withPage(editable: Bool = true, _ body: (ServedJournal, Browser) throws -> Void) throws {
    try withBooks(editable: editable) { served in
      for number in 1...7 {
        try served.journal.commit(by: "eve", note: "turn \(number)") { draft in
          try draft.updateItem(
            2, set: ["stars": .integer(Int64(number)), "text": .string("a\nb\(number)\nc")])
        }
      }
      let browser = try Browser()
      try browser.open(served.server.invitation().absoluteString)
      try browser.wait("document.querySelectorAll('.row').length == 3")
      try body(served, browser)
      // There must be no script errors and no violations of the policy. Missing things and conflicts are requested on
      // purpose.
      #expect(
        try browser.complaints().filter { !$0.contains("404 (Not Found)") && !$0.contains("409 (Conflict)") }
          == [])
    }
  }

  private let now = "document.getElementById('where').innerText.startsWith('Now')"

  @Test func scrubbingShowsThePastAndTheBackButtonReturns() throws {
    try withPage { served, browser in
      #expect(try browser.address() == "/")
      try browser.press(Browser.Key.left)
      try browser.wait("document.getElementById('where').innerText.startsWith('Revision 9')")
      #expect(try browser.address() == "/?at=9")
      try browser.wait("!document.getElementById('banner').hidden")
      // Drag to the far left, where there is only the first entry.
      try browser.drag("#scrubber", from: 0.9, to: 0.002)
      try browser.wait("document.querySelector('.row .label').innerText == 'Dun'")
      try browser.click("#to-now")
      try browser.wait(
        "document.querySelector('.row .label').innerText == 'Dune' && document.getElementById('banner').hidden"
      )
      // The back button returns to the previous view.
      try browser.back()
      try browser.wait("document.querySelector('.row .label').innerText == 'Dun'")
      // A tag is a flag.
      try browser.click(".flag")
      try browser.wait("location.search == '?at=2'")
    }
  }

  @Test func brushingZoomsTheTimeline() throws {
    try withPage { _, browser in
      try browser.drag(".brush", from: 0.5, to: 0.99)
      try browser.wait("!document.getElementById('zoom-out').hidden")
      try browser.click("#zoom-out")
      try browser.wait("document.querySelector('.window').style.width == '100%'")
      #expect(try browser.run("return document.getElementById('zoom-out').hidden") as? Bool == true)
    }
  }

  @Test func itemsCanBeSearchedFilteredSortedAndOpened() throws {
    try withPage { _, browser in
      try browser.press("/")
      try browser.wait("document.activeElement.id == 'search'")
      try browser.press("e", "m", "m", "a")
      try browser.wait("document.querySelectorAll('.row').length == 1 && location.search == '?words=emma'")
      try browser.press(Browser.Key.escape)
      try browser.click("#search + select")
      try browser.open(try browser.text("return location.origin") + "/?kind=book&sort=-title")
      try browser.wait(
        "document.querySelectorAll('.row').length == 2 && document.querySelector('.row .label').innerText == 'Emma'"
      )
      try browser.run(
        "const f = document.getElementById('filter'); f.value = 'stars>=6'; f.dispatchEvent(new Event('change'))"
      )
      try browser.wait("document.querySelectorAll('.row').length == 1")
      try browser.click(".row")
      try browser.wait("location.pathname == '/items/2' && document.querySelector('h1').innerText == 'Emma'")
      // The page shows who set a field, and its values over time.
      try browser.wait("document.querySelector('[data-field=stars] .who').innerText.startsWith('eve')")
      try browser.click("[data-field=stars] .value")
      try browser.wait("document.querySelectorAll('dialog .over-time tr').length == 8")
      try browser.photograph("values")
      try browser.press(Browser.Key.escape)
      try browser.wait("!document.querySelector('dialog')")
      // The history strip leads to a point in time, and shows line by line what changed in texts.
      try browser.click(".strip li:nth-child(3) button")
      try browser.wait(
        "location.search == '?at=5' && document.querySelector('.detail .lines ins').innerText == 'b2'")
    }
  }

  @Test func aLongHistoryIsShownInParts() throws {
    try withPage { served, browser in
      for number in 1...600 {
        try served.journal.commit(by: "eve") { draft in
          try draft.updateItem(2, set: ["stars": .integer(Int64(number))])
        }
      }
      let newest = served.journal.head.revision
      try browser.open(try browser.text("return location.origin") + "/items/2")
      // The newest 500 changes, and a button for the others.
      try browser.wait("document.querySelectorAll('.strip .step:not(#earlier)').length == 500")
      try browser.click("#earlier")
      try browser.wait("location.search == '?at=\(newest - 500)'")
      try browser.wait("document.querySelector('.step[aria-current]') && !document.getElementById('earlier')")
      try browser.wait(
        "document.querySelector('.history h2').innerText.includes('108 entries up to revision \(newest - 500)')"
      )
      try browser.wait(
        "document.querySelector('.detail .headline').innerText.startsWith('Entry \(newest - 500),')")
      try browser.open(try browser.text("return location.origin") + "/items/2/report")
      try browser.wait("document.querySelectorAll('.reported').length == 608")
    }
  }

  @Test func everyViewHasAnAddress() throws {
    try withPage { served, browser in
      let origin = "http://\(served.host)"
      try browser.photograph("items")
      for (name, address, shows) in [
        ("item-then", "/items/1?at=1", "document.querySelector('h1').innerText == 'Dun'"),
        ("item", "/items/2", "document.querySelector('h1').innerText == 'Emma'"),
        ("entry", "/entries/2", "document.querySelector('.change ins').innerText.length > 0"),
        ("entries", "/entries?author=bob", "document.querySelectorAll('.entries li').length == 2"),
        ("compare", "/compare?from=1&to=2", "document.querySelectorAll('#differences .change').length == 1"),
        (
          "proof", "/proof",
          "document.querySelector('.digest').innerText.startsWith('\(served.journal.head.digest.hex.prefix(20))')"
        ),
        ("report", "/items/1/report", "document.querySelectorAll('.reported .change').length == 2"),
        (
          "missing", "/items/99",
          "document.querySelector('#main').innerText.includes('item:99 never existed in this journal.')"
        ),
        (
          "ever", "/?words=%22dun%22&among=ever",
          "document.querySelectorAll('.row').length == 1 && document.querySelector('.row').innerText.includes('Dune')"
        ),
        (
          "nothing", "/?words=nothing-like-it",
          "document.querySelector('.note').innerText.includes('Nothing was found')"
        ),
      ] {
        try browser.open(origin + address)
        try browser.wait(shows)
        try browser.photograph(name)
      }
    }
  }

  @Test func bothDatesAreShownWhereTheyDiffer() throws {
    try withPage { served, browser in
      let early = try #require(ISO8601DateFormatter().date(from: "2001-02-03T04:05:06Z"))
      try served.journal.commit(note: String(repeating: "a slow clock ", count: 20), date: early) { draft in
        try draft.updateItem(2, set: ["stars": 1])
      }
      for (address, entry) in [("/entries", ".entries li:first-child"), ("/entries/11", "#main")] {
        try browser.open("http://\(served.host)" + address)
        try browser.wait("document.querySelector('\(entry) time[datetime^=\"2001-02-03\"]')")
        #expect(
          try browser.text("return document.querySelector('\(entry)').innerText").contains("the clock said"))
        // A long note does not hide it.
        let shown = try browser.text(
          "const box = document.querySelectorAll('\(entry) time')[1].getClientRects()[0]; "
            + "return document.elementFromPoint(box.x + 1, box.y + box.height / 2).tagName")
        #expect(shown == "TIME", "\(address)")
      }
    }
  }

  @Test func theCompareViewShowsTheDifferenceOfTwoPoints() throws {
    try withPage { _, browser in
      try browser.press("g", "c")
      try browser.wait("document.querySelector('form input[name=from]')")
      try browser.run(
        "const f = document.querySelector('form'); f.elements.from.value = '1'; f.elements.to.value = 'now'; "
          + "f.requestSubmit()"
      )
      try browser.wait("document.querySelectorAll('#differences .change').length == 3")
      #expect(try browser.text("return document.querySelector('#differences del').innerText") != "")
      #expect(try browser.address() == "/compare?from=1&to=now")
    }
  }

  @Test func aFieldAnItemAndEverythingCanBeRestoredAndARestoreUndone() throws {
    try withPage { served, browser in
      try browser.open("http://\(served.host)/items/1?at=1")
      try browser.wait("document.getElementById('restore-item')")
      try browser.click("[data-field=title] .restore-field")
      try browser.wait(
        "document.querySelector('dialog ins')?.innerText == 'Dun' && !document.getElementById('confirm').disabled"
      )
      try browser.photograph("restore")
      #expect(served.journal.head.revision == 10)
      #expect(try browser.text("return document.querySelector('dialog .edits').innerText").contains("bob"))
      try browser.click("#confirm")
      try browser.wait(
        "document.querySelector('.toast')?.innerText.includes('Entry 11') && document.querySelector('h1').innerText "
          + "== 'Dun'"
      )
      #expect(served.journal.state.item(1)!["title"] == "Dun" && served.journal.state.item(1)!["stars"] == 5)
      try browser.click("#undo")
      try browser.wait("document.querySelector('h1').innerText == 'Dune'")
      #expect(served.journal.head.revision == 12)
      // An entry that conflicts with later edits can't be reverted before one has chosen what happens to them.
      try browser.open("http://\(served.host)/entries/4")
      try browser.wait("document.getElementById('revert')")
      try browser.click("#revert")
      try browser.wait("document.querySelector('dialog').innerText.includes('Conflicting')")
      #expect(try browser.run("return document.getElementById('confirm').disabled") as? Bool == true)
      #expect(
        try browser.text("return document.querySelector('dialog').innerText").contains(
          "Overriding what conflicts: 1 entity would change"))
      try browser.press(Browser.Key.escape)
      // A deleted item comes back.
      try served.journal.commit(by: "eve") { try $0.deleteItem(3) }
      try browser.open("http://\(served.host)/items/3")
      try browser.wait("document.getElementById('restore-item')")
      try browser.click("#restore-item")
      try browser.wait("!(document.getElementById('confirm')?.disabled ?? true)")
      try browser.click("#confirm")
      try browser.wait("document.querySelector('.attributes')")
      #expect(served.journal.state.item(3) != nil)
      // Everything is restored at once.
      try browser.open("http://\(served.host)/?at=1")
      try browser.wait("document.querySelector('#banner button')")
      try browser.click("#banner button:not(#to-now)")
      try browser.wait("!(document.getElementById('confirm')?.disabled ?? true)")
      try browser.click("#confirm")
      try browser.wait(
        "document.querySelector('.toast') && document.querySelector('.row .label').innerText == 'Dun'")
      #expect(served.journal.state.item(2)!["stars"] == 4)
    }
  }

  @Test func selectedItemsAreRestoredTogether() throws {
    try withPage { served, browser in
      try served.journal.commit(by: "eve", note: "tidy up") { draft in
        try draft.updateItem(1, set: ["shelf": "attic", "stars": 1])
        try draft.updateItem(2, set: ["shelf": "attic"])
        try draft.deleteItem(3)
      }
      try browser.open("http://\(served.host)/")
      try browser.wait("document.querySelectorAll('.row').length == 2")
      // In the present there is nothing to restore to. Moving to a point in time keeps the selection.
      try browser.click("#select")
      try browser.wait("document.querySelectorAll('.row input').length == 2")
      try browser.click(".row input[data-item='1']")
      try browser.wait("document.querySelector('.selection').innerText.includes('1 item selected')")
      #expect(try browser.run("return document.getElementById('restore-selection')") as? String == nil)
      try browser.run("document.activeElement.blur()")
      try browser.press(Browser.Key.left)
      try browser.wait("document.querySelectorAll('.row input').length == 3")
      #expect(try browser.run("return document.querySelector('.row input').checked") as? Bool == true)
      // Items can also be selected with the keyboard.
      try browser.run("document.querySelector('.scroller').focus()")
      try browser.press(Browser.Key.down, Browser.Key.down, Browser.Key.down, Browser.Key.space)
      try browser.wait("document.querySelector('.selection').innerText.includes('2 items selected')")
      try browser.photograph("selection")
      try browser.click("#restore-selection")
      try browser.wait(
        "document.querySelectorAll('dialog .change').length == 2 && !document.getElementById('confirm').disabled"
      )
      let shown = try browser.text("return document.querySelector('dialog').innerText")
      #expect(shown.contains("shelf") && shown.contains("item:1 Dune"))
      try browser.photograph("preview")
      // Fields that were added since can be kept.
      try browser.click("#keep-new")
      try browser.wait(
        "!document.querySelector('dialog .preview').innerText.includes('shelf') && "
          + "!document.getElementById('confirm').disabled"
      )
      #expect(served.journal.head.revision == 11)
      try browser.click("#confirm")
      try browser.wait(
        "document.querySelector('.toast')?.innerText.includes('Entry 12') && "
          + "document.querySelectorAll('.row').length == 3"
      )
      #expect(try browser.run("return document.querySelectorAll('.row input').length") as? Int == 0)
      let state = served.journal.state
      #expect(state.item(1)!["stars"] == 5 && state.item(1)!["shelf"] == "attic")
      #expect(state.item(2)!["shelf"] == "attic" && state.item(3) != nil)
      #expect(try served.journal.entry(at: 12).events.count == 2)
      try browser.click("#undo")
      try browser.wait("document.querySelectorAll('.row').length == 2")
      #expect(served.journal.state.item(1)!["stars"] == 1)
      // All results of a search are restored, and fields that were added since are not kept.
      try browser.open("http://\(served.host)/?kind=book&at=10")
      try browser.wait("document.querySelectorAll('.row').length == 2")
      try browser.click("#select")
      try browser.click("#select-all")
      try browser.wait("document.querySelector('.selection').innerText.includes('2 items selected')")
      try browser.click("#restore-selection")
      try browser.wait("!(document.getElementById('confirm')?.disabled ?? true)")
      try browser.click("#confirm")
      try browser.wait("document.querySelector('.toast')?.innerText.includes('Entry 14')")
      #expect(served.journal.state.item(1)!["shelf"] == nil && served.journal.state.item(2)!["shelf"] == nil)
      #expect(served.journal.state.item(3) == nil)
    }
  }

  @Test func theDigestIsCopiedAndAReportIsPrinted() throws {
    try withPage { served, browser in
      for name in ["clipboard-read", "clipboard-write"] { try browser.permit(name) }
      try browser.open("http://\(served.host)/proof")
      // Until everything was checked, the view is drawn again each second, with a new button.
      try browser.wait("document.getElementById('checked').innerText.includes('are as committed')")
      try browser.click("#copy")
      try browser.wait("document.getElementById('copy').innerText == 'Copied'")
      #expect(
        try browser.runAsync("return await navigator.clipboard.readText()") as? String
          == served.journal.head.digest.hex)
      try browser.open("http://\(served.host)/items/1/report")
      try browser.wait("document.querySelectorAll('.reported').length == 2")
      try browser.run("window.print = () => { window.wasPrinted = true }")
      try browser.click(".report button")
      #expect(try browser.run("return window.wasPrinted") as? Bool == true)
      let printed = try browser.printed()
      #expect(printed.prefix(5) == Data("%PDF-".utf8) && printed.count > 10_000)
      // The printed page has the report and no controls.
      try browser.tell("Emulation.setEmulatedMedia", ["media": "print"])
      let shown = try browser.text("return document.body.innerText")
      for revision in [1, 2] {
        #expect(shown.contains(try served.journal.entry(at: revision).digest.hex))
      }
      #expect(shown.contains(served.journal.head.digest.hex) && shown.contains("spelling"))
      #expect(
        try browser.run(
          "return [...document.querySelectorAll('.top, #timeline, button, #alarm, #banner')].filter((e) => "
            + "e.offsetParent).length"
        ) as? Int == 0)
    }
  }

  @Test func aSliderComparesTwoVersionsOfAnImage() throws {
    try withPage { served, browser in
      let wide = try served.journal.blobs.add(
        Data("<svg xmlns='http://www.w3.org/2000/svg' width='80' height='60'/>".utf8))
      try served.journal.commit(by: "eve", note: "a better scan") { try $0.updateImage(1, blob: wide) }
      try browser.open("http://\(served.host)/entries/11")
      try browser.wait(
        "[...document.querySelectorAll('.stack img')].map((image) => image.naturalWidth).join() == '40,80'")
      let clip = "document.querySelector('.top-image').style.clipPath"
      try browser.wait("\(clip).includes('50%')")
      try browser.photograph("images")
      try browser.run("document.querySelector('.pair input').focus()")
      try browser.press(Browser.Key.right, Browser.Key.right)
      try browser.wait("\(clip).includes('52%')")
      // The keys move the slider and do not change the point in time.
      #expect(try browser.address() == "/entries/11")
      try browser.drag(".pair input", from: 0.52, to: 0.9)
      try browser.wait("Number(document.querySelector('.pair input').value) > 80")
      #expect(
        try browser.run("return \(clip).includes(document.querySelector('.pair input').value + '%')") as? Bool
          == true)
    }
  }

  @Test func aReadOnlyPageOffersNoRestore() throws {
    try withPage(editable: false) { served, browser in
      try browser.open("http://\(served.host)/items/1?at=1")
      try browser.wait("document.querySelector('.attributes')")
      #expect(
        try browser.run(
          "return document.querySelectorAll('#restore-item, .restore-field, #banner button:not(#to-now)').length"
        ) as? Int == 0)
      try browser.open("http://\(served.host)/")
      try browser.wait("document.querySelectorAll('.row').length == 3")
      #expect(try browser.run("return document.getElementById('select').hidden") as? Bool == true)
    }
  }

  @Test func newCommitsAppearOnTheOpenPage() throws {
    try withPage { served, browser in
      try browser.wait("document.getElementById('live-mark').classList.contains('on')")
      try served.journal.commit(by: "till 1", note: "just now") { draft in
        _ = try draft.addItem(kind: "book", attributes: ["title": "Solaris"])
      }
      try browser.wait(
        "document.querySelectorAll('.row').length == 4 && document.getElementById('where').innerText.includes('just "
          + "now')"
      )
      // A page that shows the past stays there.
      try browser.press(Browser.Key.left, Browser.Key.left)
      try browser.wait("location.search == '?at=9'")
      try served.journal.commit(by: "till 1") { try $0.deleteItem(4) }
      try browser.wait("document.getElementById('where').innerText.includes('of 12')")
      #expect(try browser.address() == "/?at=9")
    }
  }

  @Test func everythingWorksWithTheKeyboard() throws {
    try withPage { _, browser in
      // Move to the list, then to the second item, and open it.
      try browser.run("document.querySelector('.scroller').focus()")
      try browser.press(Browser.Key.down)
      try browser.wait("document.activeElement.classList.contains('row')")
      try browser.press(Browser.Key.down, Browser.Key.enter)
      try browser.wait("location.pathname == '/items/2'")
      try browser.press(Browser.Key.left, Browser.Key.left)
      try browser.wait("location.search == '?at=8'")
      try browser.press("e")
      try browser.wait("location.pathname == '/entries/8'")
      try browser.press("n")
      try browser.wait(now)
      try browser.press("g", "p")
      try browser.wait("location.pathname == '/proof'")
      try browser.press("?")
      try browser.wait("document.querySelector('dialog').innerText.includes('search')")
      try browser.press(Browser.Key.escape)
      // Every control has an accessible name.
      let unnamed = try browser.run(
        "return [...document.querySelectorAll('button, a, input, select, [role=slider]')].filter(e => "
          + "!e.closest('[hidden]') && !(e.innerText?.trim() || e.getAttribute('aria-label') || "
          + "e.labels?.length)).length"
      )
      #expect(unnamed as? Int == 0)
    }
  }

  @Test func noScriptInAJournalRuns() throws {
    try withPage { served, browser in
      try served.journal.commit(
        by: "<script>window.hacked=1</script>", note: "\"><img src=x onerror=window.hacked=1>"
      ) { draft in
        try draft.updateItem(
          1,
          set: [
            "javascript:hacked=1": "<svg onload=window.hacked=1>",
            "title": "</script><script>window.hacked=1</script>",
          ])
      }
      for path in [
        "/", "/items/1", "/items/1/report", "/items/3", "/entries", "/entries/11", "/compare?from=1&to=now",
        "/?words=%3Cscript%3Ewindow.hacked=1%3C/script%3E",
      ] {
        try browser.open("http://\(served.host)\(path)")
        try browser.wait("document.querySelector('#main').innerText.length > 0")
        usleep(150_000)
        #expect(
          try browser.run(
            "return window.hacked === undefined && document.querySelectorAll('#main script').length == 0")
            as? Bool == true, "\(path)")
      }
      // The image has a script in it, which must not run when the image is opened as a page.
      try browser.open("http://\(served.host)/api/images/1/content")
      #expect(
        try browser.run("return window.hacked === undefined && parent.hacked === undefined") as? Bool == true)
      let blocked = try browser.complaints()
      #expect(blocked.allSatisfy { $0.contains("/content") || $0.contains("404") })
    }
  }

  @Test func rowsThatStayedBlankInAListOfLargeItemsAreShown() throws {
    try withPage { served, browser in
      // Three pages of items, each of which takes several answers of 4 MiB.
      try served.journal.commit(by: "eve") { draft in
        for number in 1...140 {
          try draft.addItem(
            kind: "large",
            attributes: [
              "title": .string("large \(number)"), "text": .string(String(repeating: "x", count: 150_000)),
            ])
        }
      }
      try browser.open("http://\(served.host)/?kind=large")
      func showsRows(from first: Int, to last: Int) -> String {
        """
        (() => { const shown = [...document.querySelectorAll('.row')].map((row) => row.querySelector('.label')?.innerText);
          return shown.length > 9 && shown.every(Boolean) && shown.includes('large \(first)') && shown.includes('large \(last)') })()
        """
      }
      try browser.wait(showsRows(from: 1, to: 10))
      for (first, last) in [(31, 40), (56, 65), (131, 140)] {
        try browser.run("document.querySelector('.scroller').scrollTop = \((first - 1) * 44)")
        try browser.wait(showsRows(from: first, to: last))
      }
      // The changes of one entry take several answers too.
      try browser.open("http://\(served.host)/entries/11")
      try browser.wait("document.querySelectorAll('.change').length > 0")
      while try browser.run("return document.querySelectorAll('.change').length") as? Int != 140 {
        let more =
          "[...document.querySelectorAll('#main button')].find((b) => b.innerText.includes('more change'))"
        try browser.wait("(\(more)?.click(), !\(more))")
        try browser.wait("\(more) || document.querySelectorAll('.change').length == 140")
      }
    }
  }

  @Test func numbersThatLostTheirLastDigitsAreExact() throws {
    try withPage { served, browser in
      let old: [String: FieldValue] = [
        "n": 9_007_199_254_740_993, "deep": [["id": -9_007_199_254_740_993], .unsigned(.max)], "whole": 1,
      ]
      try served.journal.commit(by: "eve") { try $0.updateItem(2, set: old) }
      try served.journal.commit(by: "eve") { draft in
        try draft.updateItem(2, set: ["n": 9_007_199_254_740_992, "whole": .double(1)])
      }
      let origin = "http://\(served.host)"
      for path in ["/entries/12", "/compare?from=11&to=12", "/items/2", "/items/2/report"] {
        try browser.open(origin + path)
        try browser.wait("document.querySelector('.change.update')")
        let shown = try browser.text("return document.querySelector('.change.update').innerText")
        #expect(shown.contains("9007199254740993 → 9007199254740992"), "\(path): \(shown)")
        #expect(shown.contains("1 → 1.0"), "\(path): \(shown)")
      }
      #expect(
        try browser.text("return document.querySelector('.plain').innerText").contains(
          "[ { \"id\": -9007199254740993 }, 18446744073709551615 ]"))
      try browser.open(origin + "/items/2?at=11")
      try browser.wait("document.querySelector('[data-field=n] .value').innerText == '9007199254740993'")
      try browser.click("[data-field=n] .value")
      let values = "document.querySelectorAll('dialog .over-time td:nth-child(4)')"
      try browser.wait("\(values).length == 2")
      #expect(
        try browser.run("return [...\(values)].map((c) => c.textContent)") as? [String]
          == ["9007199254740992", "9007199254740993"])
      try browser.press(Browser.Key.escape)
      // What the page restores is exact too.
      try browser.click("[data-field=n] .restore-field")
      try browser.wait("!(document.getElementById('confirm')?.disabled ?? true)")
      #expect(
        try browser.text("return document.querySelector('dialog').innerText").contains(
          "9007199254740992 → 9007199254740993"))
      try browser.click("#confirm")
      try browser.wait("document.querySelector('.toast')?.innerText.includes('Entry 13')")
      #expect(
        served.journal.state.item(2)!["n"] == old["n"] && served.journal.state.item(2)!["deep"] == old["deep"]
      )
      try browser.open(origin + "/?where=n%3D9007199254740993")
      try browser.wait("document.querySelectorAll('.row').length == 1")
      let row = try browser.text("return document.querySelector('.row').innerText")
      #expect(row.contains("n: 9007199254740993") && row.contains("id -9007199254740993"), "\(row)")
    }
  }

  /// They were shown as two equal values or lines.
  @Test func valuesAndLinesThatLookTheSameAreToldApart() throws {
    try withPage { served, browser in
      let date = Date(timeIntervalSinceReferenceDate: 788_918_400)
      try served.journal.commit(by: "eve") { draft in
        try draft.updateItem(
          2,
          set: [
            "b": .data(Data("abc".utf8)), "d": .date(date), "word": "\u{E9}", "n": "5", "line": "end",
            "text": "one\ntwo\n",
          ])
      }
      try served.journal.commit(by: "eve") { draft in
        try draft.updateItem(
          2,
          set: [
            "b": .data(Data("abd".utf8)), "d": .date(date.addingTimeInterval(0.25)), "word": "e\u{301}",
            "n": 5, "line": "end\r", "text": "one\r\ntwo\n",
          ])
      }
      let origin = "http://\(served.host)"
      for path in ["/entries/12", "/compare?from=11&to=12", "/items/2", "/items/2/report"] {
        try browser.open(origin + path)
        let change =
          "[...document.querySelectorAll('.change.update')].find((c) => c.innerText.includes('end\\\\r'))"
        // The digests are computed asynchronously.
        try browser.wait("\(change).innerText.match(/SHA-256/g).length == 4")
        let shown = try browser.text("return \(change).innerText")
        for text in [
          "3 bytes (SHA-256 ba7816bf…) → 3 bytes (SHA-256 a52d159f…)",
          "2026-01-01T00:00:00.000000Z → 2026-01-01T00:00:00.250000Z",
          "\u{E9} (SHA-256 4a99557e…) → e\u{301} (SHA-256 bf12767b…)", "\"5\" → 5", "end → end\\r",
        ] {
          #expect(shown.contains(text), "\(path): \(text) is not in \(shown)")
        }
        let lines = "[...\(change).querySelectorAll('.lines del, .lines ins')]"
        #expect(
          try browser.run("return \(lines).map((l) => l.innerText)") as? [String] == ["one", "one\\r"],
          "\(path)")
      }
      try browser.open(origin + "/items/2")
      try browser.wait("document.querySelector('[data-field=b] .value')")
      try browser.click("[data-field=b] .value")
      let values = "document.querySelector('dialog .over-time').innerText"
      try browser.wait("\(values).includes('ba7816bf') && \(values).includes('a52d159f')")
    }
  }

  @Test func theFileThatViewGivesToTheBrowserOpensASession() throws {
    try withTemporaryFolder { folder in
      try makeBooks(folder).close()
      let opened = folder.path("opened")
      try "#!/bin/sh\necho \"$1\" > '\(opened).part'\nmv '\(opened).part' '\(opened)'\n".write(
        toFile: folder.path("xdg-open"), atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path("xdg-open"))
      let view = Process()
      view.executableURL = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(
        path: "journal")
      view.arguments = ["view", folder.path("Books.journal"), "--edit"]
      let programs = ProcessInfo.processInfo.environment["PATH"] ?? ""
      view.environment = ProcessInfo.processInfo.environment.merging(["PATH": "\(folder.path):\(programs)"]) {
        $1
      }
      view.standardOutput = FileHandle.nullDevice
      view.standardError = FileHandle.nullDevice
      try view.run()
      defer {
        kill(view.processIdentifier, SIGTERM)
        view.waitUntilExit()
      }
      let end = Date() + 300
      while !FileManager.default.fileExists(atPath: opened), Date() < end { usleep(20_000) }
      let file = try String(contentsOfFile: opened, encoding: .utf8).trimmingCharacters(in: .newlines)
      #expect(file.hasPrefix("file:///"))
      let browser = try Browser()
      try browser.open(file)
      try browser.wait("document.querySelectorAll('.row').length == 3")
      #expect(try browser.address() == "/")
      // The session lasts when the page is loaded again, and it can change the journal.
      try browser.reload()
      try browser.wait("document.querySelectorAll('.row').length == 3")
      try browser.open(try browser.text("return location.origin") + "/items/1?at=1")
      try browser.wait("document.getElementById('restore-item')")
      try browser.click("#restore-item")
      try browser.wait("!(document.getElementById('confirm')?.disabled ?? true)")
      try browser.click("#confirm")
      try browser.wait("document.querySelector('.toast')?.innerText.includes('Entry 4')")
      #expect(try browser.complaints() == [])
    }
  }

  /// Some views showed an erased author as an unnamed one, and most showed one of the two dates.
  @Test func everyViewShowsThatAnAuthorWasErasedAndWhatTheClockSaid() throws {
    try withTemporaryFolder { folder in
      let journal = try makeErasedBooks(folder)
      let served = try ServedJournal(journal)
      let browser = try Browser()
      try browser.open(served.server.invitation().absoluteString)
      try browser.wait("document.querySelectorAll('.row').length == 2")
      for (address, text) in [
        ("/entries/4", "document.querySelector('.facts').innerText"),
        ("/items/1?at=4", "document.querySelector('[data-field=stars] .value').title"),
        ("/items/1?at=4", "document.querySelector('.detail .headline').innerText"),
        ("/items/1?at=4", "document.getElementById('banner').innerText"),
        ("/items/1?at=4", "document.getElementById('where').innerText"),
        ("/items/1/report", "document.querySelector('.report tbody').innerText"),
        ("/items/1/report", "document.querySelector('.reported .headline').innerText"),
      ] {
        try browser.open("http://\(served.host)\(address)")
        try browser.wait("(\(text)).includes('(erased)') && (\(text)).includes('the clock said')")
      }
      try browser.open("http://\(served.host)/items/1?at=2")
      try browser.wait("document.querySelector('[data-field=stars] .restore-field')")
      try browser.click("[data-field=stars] .restore-field")
      let edits = "document.querySelector('dialog .edits').innerText"
      try browser.wait("\(edits).includes('(erased)') && \(edits).includes('the clock said')")
      #expect(try browser.complaints() == [])
      served.server.stop()
      try journal.close()
    }
  }

  /// The server ended when the item was opened.
  @Test func anItemOfAnErasedCategoryShowsItsReference() throws {
    try withTemporaryFolder { folder in
      let journal = try makeBooksOfErasedCategory(folder)
      let served = try ServedJournal(journal)
      let browser = try Browser()
      try browser.open(served.server.invitation().absoluteString)
      try browser.wait("document.querySelector('.row .chip').innerText == 'category:1 (erased)'")
      try browser.open("http://\(served.host)/items/1")
      try browser.wait("document.querySelector('.heading .chip').innerText == 'category:1 (erased)'")
      #expect(try browser.complaints() == [])
      served.server.stop()
      try journal.close()
    }
  }

  @Test func aPhoneShowsTheWholeFirstLineOfANote() throws {
    try withBooks { served in
      let note = String(repeating: "a long reason ", count: 12)
      try served.journal.commit(by: "eve", note: note + "\nand more") {
        try $0.updateItem(2, set: ["n": .integer(1)])
      }
      let browser = try Browser(width: 390, height: 844)
      try browser.open(served.server.invitation().absoluteString)
      try browser.wait("document.querySelectorAll('.row').length == 3")
      try browser.open("http://\(served.host)/entries")
      try browser.wait("document.querySelectorAll('.entries li').length == 4")
      let isWhole =
        "const l = document.querySelector('.entries .label'); return l.innerText.length > 150 && l.scrollWidth <= l.clientWidth"
      #expect(try browser.run(isWhole) as? Bool == true)
      #expect(try browser.run("return document.documentElement.scrollWidth <= innerWidth") as? Bool == true)
      try browser.photograph("long-note")
    }
  }

  @Test func thePageOfAnEmptyJournalSaysSoAndShowsTheFirstCommit() throws {
    try withTemporaryFolder { folder in
      let journal = try CatalogJournal.create(at: folder.url.appending(path: "Empty.journal"))
      let served = try ServedJournal(journal)
      let browser = try Browser(width: 390, height: 844)
      try browser.open(served.server.invitation().absoluteString)
      try browser.wait("document.getElementById('main').innerText.includes('This journal is empty')")
      #expect(try browser.run("return document.documentElement.scrollWidth <= innerWidth") as? Bool == true)
      try browser.photograph("empty")
      // The open page shows the first commit.
      try journal.commit(by: "ana", note: "first") {
        _ = try $0.addItem(kind: "k", attributes: ["title": "One"])
      }
      try browser.wait("document.querySelectorAll('.row').length == 1")
      // A used token does no harm in a browser that has a session.
      try browser.open("http://\(served.host)/?token=used")
      try browser.wait("document.querySelectorAll('.row').length == 1")
      served.server.stop()
      try journal.close()
    }
  }
}
