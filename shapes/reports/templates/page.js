"use strict";
(() => {
  const form = document.getElementById("filter");
  const query = document.getElementById("query");
  const verdict = document.getElementById("verdict");
  const count = document.getElementById("count");
  const boxes = [...form.querySelectorAll("input[name=kind]")];
  const entries = [...document.querySelectorAll(".entry")];
  // an entry is found by its own words, its source line and its function
  const texts = entries.map((entry) => {
    const line = entry.closest(".row")?.querySelector(".line")?.textContent ?? "";
    const file = entry.closest(".source")?.previousElementSibling?.textContent ?? "";
    const name = entry.closest("section").querySelector("h2").textContent;
    return [entry.textContent, line, file, name].join(" ").toLowerCase();
  });

  function apply() {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kinds = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const filtered = words.length > 0 || verdict.value !== "" || kinds.size < boxes.length;
    document.querySelectorAll(".hit").forEach((each) => each.classList.remove("hit"));
    let found = 0;
    entries.forEach((entry, place) => {
      const hit = kinds.has(entry.dataset.kind)
        && (verdict.value === "" || entry.dataset.verdict === verdict.value)
        && words.every((word) => texts[place].includes(word));
      entry.classList.toggle("hidden", !hit);
      if (hit && filtered) {
        found += 1;
        entry.closest(".row").classList.add("hit");
        entry.closest("section").classList.add("hit");
        const folded = entry.closest("details.folded");
        if (folded && words.length > 0) folded.open = true;
      }
    });
    document.body.classList.toggle("filtered", filtered);
    count.textContent = filtered ? `${found} of ${entries.length}` : `${entries.length} entries`;
    return filtered;
  }

  function remember() {
    const filtered = apply();
    const state = new URLSearchParams();
    if (query.value) state.set("q", query.value);
    if (verdict.value) state.set("verdict", verdict.value);
    if (boxes.some((box) => !box.checked)) state.set("kinds", boxes.filter((box) => box.checked).map((box) => box.value).join(" "));
    const search = filtered ? `?${state}` : location.pathname;
    try { history.replaceState(null, "", search + location.hash); } catch { /* a page without an address of its own */ }
  }

  function clear() {
    query.value = "";
    verdict.value = "";
    boxes.forEach((box) => { box.checked = true; });
    remember();
  }

  function reveal() {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let each = target; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
    if (target.offsetParent === null) clear();
    target.scrollIntoView({ block: "start" });
  }

  const given = new URLSearchParams(location.search);
  query.value = given.get("q") ?? "";
  verdict.value = given.get("verdict") ?? "";
  if (given.has("kinds")) {
    const kinds = new Set(given.get("kinds").split(" "));
    boxes.forEach((box) => { box.checked = kinds.has(box.value); });
  }
  form.addEventListener("input", remember);
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", reveal);
  apply();
  reveal();
})();
