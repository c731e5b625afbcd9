"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const message = document.getElementById("message");

  function dataUri(text) {
    let bytes = "";
    for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
    return "data:text/plain;base64," + btoa(bytes);
  }

  function trackOf(item) {
    const options = Object.assign({}, item.options);
    if (item.values) {
      options.features = item.values.map(([chr, start, end, value]) => ({chr, start, end, value}));
    } else {
      options.url = dataUri(item.text);
      options.indexed = false;
    }
    return options;
  }

  function locusOf(region) {
    return region.chr + ":" + (region.start + 1) + "-" + region.end;
  }

  const options = {
    loadDefaultGenomes: false,
    queryParametersSupported: false,
    search: false,
    showIdeogram: false,
    showChromosomeWidget: false,
    showCenterGuideButton: false,
    showMultiSelectButton: false,
    reference: {
      id: data.genome, name: data.genome, fastaURL: dataUri(data.fasta), indexed: false, wholeGenomeView: false,
    },
    locus: locusOf(data.regions[0]),
    tracks: data.tracks.map(trackOf),
  };

  const buttons = Array.from(document.querySelectorAll("button.region"));
  function mark(current) {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button === current));
  }

  // igv.js keeps its bar on one line, which is wider than a telephone.
  function fitNarrowScreens(container) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`@media (max-width: 640px) {
      .igv-navbar { height: auto; flex-wrap: wrap; }
      .igv-track-label { max-width: 95%; }
      .igv-current-genome, .igv-windowsize-panel-container { display: none !important; }
    }`);
    container.shadowRoot.adoptedStyleSheets = [...container.shadowRoot.adoptedStyleSheets, sheet];
  }

  const container = document.getElementById("browser");
  igv.createBrowser(container, options).then((browser) => {
    window.genomeBrowser = browser;
    fitNarrowScreens(container);
    for (const {track} of browser.trackViews) {
      if (track.config && track.config.about) track.description = track.config.about;
    }
    buttons.forEach((button, index) => {
      button.disabled = false;
      button.addEventListener("click", () => {
        mark(button);
        browser.search(locusOf(data.regions[index]));
      });
    });
    mark(buttons[0]);
    message.textContent = "";
    document.documentElement.dataset.state = "ready";
  }).catch((error) => {
    message.textContent = "The genome browser did not start: " + error;
    document.documentElement.dataset.state = "failed";
  });
})();
