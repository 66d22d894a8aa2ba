"use strict";
// Draws what the page holds as data. Names are only ever put in as text.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const views = {};
  const byId = (id) => document.getElementById(id);
  const failed = [];

  async function draw(id, chart) {
    const place = document.querySelector(`[data-chart="${id}"]`);
    const compiled = vegaLite.compile(chart.spec).spec;
    // As a tree that is walked, so that no text of the page becomes a program.
    const view = new vega.View(vega.parse(compiled, null, { ast: true }), {
      expr: vega.expressionInterpreter,
      renderer: "svg",
      container: place,
      hover: true,
      logLevel: vega.Warn,
    });
    if (id === "terms") view.data("table", ranked());
    else if (chart.choices) view.data("table", chart.choices[0]);
    await view.runAsync();
    // The element around it says what it shows.
    place.querySelector("svg").setAttribute("aria-hidden", "true");
    views[id] = view;
    place.dispatchEvent(new Event("drawn"));
  }

  function change(id, values) {
    if (!views[id]) return;
    views[id].data("table", values).runAsync();
  }

  // A picture on its own has no style sheet: colours become those of the light page.
  function save(id) {
    const light = {};
    for (const rule of document.styleSheets[0].cssRules) {
      if (rule.selectorText === ":root") for (const name of rule.style) light[name] = rule.style.getPropertyValue(name).trim();
    }
    views[id].toSVG().then((svg) => {
      const text = svg.replace(/var\((--[a-z0-9]+)\)/g, (all, name) => light[name] || all);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
      link.download = `${id}.svg`;
      link.click();
      URL.revokeObjectURL(link.href);
    });
  }

  function choices() {
    for (const select of document.querySelectorAll("[data-choice]")) {
      select.addEventListener("change", () => {
        for (const id of select.dataset.choice.split(" ")) {
          if (data.charts[id]) change(id, data.charts[id].choices[select.value]);
        }
      });
    }
  }

  // Relevance as in LDAvis: lambda ln p(word | topic) + (1 - lambda) ln(p(word | topic) / p(word)).
  function ranked() {
    const topics = data.topics;
    const [topic, lambda] = [byId("topic").value, Number(byId("lambda").value)];
    const tokens = topics.tokens[topic];
    const scored = topics.terms[topic].map(([word, probability]) => {
      const overall = topics.counts[word] / topics.total;
      return { word, probability, relevance: Math.log(probability) - (1 - lambda) * Math.log(overall) };
    });
    scored.sort((a, b) => b.relevance - a.relevance || a.word - b.word);
    return scored.slice(0, 30).map(({ word, probability }, rank) => ({
      rank, word: topics.words[word],
      inside: probability * tokens, overall: Math.max(topics.counts[word], probability * tokens),
    }));
  }

  function terms() {
    const topics = data.topics;
    if (!topics) return;
    const [topic, slider, shown] = [byId("topic"), byId("lambda"), byId("lambda-value")];
    topics.names.forEach((name, index) => topic.add(new Option(name, index)));
    shown.textContent = Number(slider.value).toFixed(2);
    const update = () => {
      shown.textContent = Number(slider.value).toFixed(2);
      change("terms", ranked());
    };
    topic.addEventListener("change", update);
    slider.addEventListener("input", update);
    // By clicks too, once the map is drawn.
    document.querySelector('[data-chart="map"]').addEventListener("drawn", () => {
      views.map.addEventListener("click", (event, item) => {
        if (item && item.datum && item.datum.place !== undefined) {
          topic.value = item.datum.place;
          update();
        }
      });
    });
  }

  function finder(root) {
    const id = root.dataset.finder;
    const { columns, rows, limit, most } = data.tables[id];
    const size = 50;
    const [head, body] = [root.querySelector("thead"), root.querySelector("tbody")];
    const [search, bound] = [byId(`${id}-search`), byId(`${id}-limit`)];
    let [sorted, falling, page, found] = [data.tables[id].sorted, data.tables[id].falling, 0, rows];
    const line = head.insertRow();
    columns.forEach((name, column) => {
      const cell = document.createElement("th");
      cell.scope = "col";
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.addEventListener("click", () => {
        falling = sorted === column ? !falling : column > 0;
        sorted = column;
        update();
      });
      cell.append(button);
      line.append(cell);
    });
    const text = (value) => (typeof value === "number" ? String(Number(value.toPrecision(4))) : value);
    const show = () => {
      body.replaceChildren();
      for (const row of found.slice(page * size, (page + 1) * size)) {
        const line = body.insertRow();
        for (const value of row) {
          const name = document.createElement("bdi");
          name.textContent = text(value);
          line.insertCell().append(name);
        }
      }
      const pages = Math.max(1, Math.ceil(found.length / size));
      byId(`${id}-count`).textContent = `${found.length} of ${rows.length}`;
      byId(`${id}-page`).textContent = `page ${page + 1} of ${pages}`;
      byId(`${id}-before`).disabled = page === 0;
      byId(`${id}-after`).disabled = page + 1 >= pages;
    };
    const update = () => {
      const wanted = search.value.trim().toLowerCase();
      const at = bound.value === "" ? (most ? Infinity : 0) : Number(bound.value);
      const kept = most ? (value) => value <= at : (value) => value >= at;
      found = rows.filter((row) => kept(row[limit]) && row[0].toLowerCase().includes(wanted));
      const sign = falling ? -1 : 1;
      found.sort((a, b) => sign * (a[sorted] < b[sorted] ? -1 : a[sorted] > b[sorted] ? 1 : 0));
      [...line.cells].forEach((cell, column) => {
        cell.ariaSort = column === sorted ? (falling ? "descending" : "ascending") : "none";
      });
      page = 0;
      show();
    };
    search.addEventListener("input", update);
    bound.addEventListener("input", update);
    byId(`${id}-before`).addEventListener("click", () => { page -= 1; show(); });
    byId(`${id}-after`).addEventListener("click", () => { page += 1; show(); });
    update();
  }

  async function all() {
    document.querySelectorAll("[data-finder]").forEach(finder);
    terms();
    for (const [id, chart] of Object.entries(data.charts)) {
      try {
        await draw(id, chart);
      } catch (error) {
        failed.push(id);
        console.error(`picture ${id}: ${error}`);
      }
    }
    choices();
    for (const button of document.querySelectorAll("[data-save]")) {
      button.addEventListener("click", () => save(button.dataset.save));
    }
    document.documentElement.dataset.ready = failed.length === 0 ? "yes" : "failed";
  }
  all();
})();
