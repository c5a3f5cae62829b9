// The theme adds a navigation landmark to each sample for its buttons: each gets a name of its own.
const label = () => {
  document.querySelectorAll("nav.md-code__nav").forEach((buttons, index) => {
    if (!buttons.ariaLabel) buttons.ariaLabel = `Buttons of sample ${index + 1}`;
  });
};
new MutationObserver(label).observe(document.body, { childList: true, subtree: true });
label();
