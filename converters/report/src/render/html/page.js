(function () {
  'use strict';
  document.documentElement.classList.add('js');
  const tables = [...document.querySelectorAll('table.sortable')];
  const bodies = tables.flatMap(table => [...table.tBodies]);
  const collator = new Intl.Collator('en', { numeric: true });

  // Sorting: numbers begin with the largest, names with A; the third click
  // brings the order of the report back. What is not known is always last.
  function compare(column, numbers, sign) {
    return (a, b) => {
      const [x, y] = [a.rows[0].cells[column], b.rows[0].cells[column]];
      if (!numbers) return sign * collator.compare(x.textContent, y.textContent);
      const [v, w] = [x.dataset.v, y.dataset.v];
      if (v === undefined || w === undefined) return (v === undefined) - (w === undefined);
      return sign * (v - w);
    };
  }
  for (const table of tables) {
    const original = [...table.tBodies];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = head.querySelector('button');
      if (!button) return;
      const numbers = head.classList.contains('n');
      const turns = numbers ? ['descending', 'ascending'] : ['ascending', 'descending'];
      button.addEventListener('click', () => {
        const next = turns[turns.indexOf(head.getAttribute('aria-sort')) + 1];
        heads.forEach(other => other.removeAttribute('aria-sort'));
        if (next) head.setAttribute('aria-sort', next);
        const sign = next === 'ascending' ? 1 : -1;
        const order = next ? [...original].sort(compare(column, numbers, sign)) : original;
        table.append(...order);
      });
    });
  }

  // Rows that open, by their button or by a click anywhere that selects nothing.
  function unfold(body, open) {
    body.classList.toggle('unfolded', open);
    body.querySelector('.open').setAttribute('aria-expanded', open);
  }
  const opening = bodies.filter(body => body.classList.contains('opens'));
  for (const body of opening) {
    body.rows[0].addEventListener('click', () => {
      if (getSelection().isCollapsed) unfold(body, !body.classList.contains('unfolded'));
    });
  }
  const frames = [...document.querySelectorAll('.tree .frame')];
  const folders = frames.filter(frame => frame.tagName === 'DETAILS');
  const all = document.getElementById('unfold');
  all.hidden = opening.length + folders.length === 0;
  all.addEventListener('click', () => {
    const open = all.getAttribute('aria-pressed') !== 'true';
    all.setAttribute('aria-pressed', open);
    all.textContent = open ? 'Close all' : 'Open all';
    opening.forEach(body => unfold(body, open));
    folders.forEach(frame => { frame.open = open; });
  });

  // Searching: rows that hold the text, stacks included; frames of trees, with
  // what they stand in and what they call; and frames of flame graphs.
  const search = document.getElementById('search');
  const found = document.getElementById('found');
  const texts = bodies.map(body => body.textContent.toLowerCase());
  const names = frames.map(frame => {
    const line = frame.tagName === 'DETAILS' ? frame.firstElementChild : frame;
    return line.querySelector('.name').textContent.toLowerCase();
  });
  let before = null;
  function prune(text) {
    if (text && !before) before = folders.map(frame => frame.open);
    const [hits, leading, below] = [new Set(), new Set(), new Set()];
    frames.forEach((frame, at) => {
      const parent = frame.parentElement;
      if (below.has(parent) || hits.has(parent)) below.add(frame);
      if (!names[at].includes(text)) return;
      hits.add(frame);
      for (let up = parent; up.classList.contains('frame') && !leading.has(up); up = up.parentElement) {
        leading.add(up);
      }
    });
    for (const frame of frames) {
      frame.hidden = !(hits.has(frame) || leading.has(frame) || below.has(frame));
    }
    if (text) folders.forEach(frame => { if (leading.has(frame)) frame.open = true; });
    else if (before) {
      folders.forEach((frame, at) => { frame.open = before[at]; });
      before = null;
    }
    return hits.size;
  }
  function filter() {
    const text = search.value.trim().toLowerCase();
    let count = frames.length ? prune(text) : 0;
    bodies.forEach((body, at) => {
      const hit = texts[at].includes(text);
      body.hidden = !hit;
      count += hit;
    });
    for (const table of tables) {
      const left = [...table.tBodies].some(body => !body.hidden);
      table.parentElement.classList.toggle('empty', !left);
    }
    found.textContent = text ? count + ' of ' + (bodies.length + frames.length) + ' rows' : '';
  }
  function mark() {
    const text = search.value.trim();
    // Flame graphs take a pattern, and tell capitals from small letters.
    const pattern = text.replace(/[^\p{L}\p{N}]/gu, '\\$&')
      .replace(/\p{L}/gu, letter => '[' + letter.toLowerCase() + letter.toUpperCase() + ']');
    for (const frame of document.querySelectorAll('iframe')) {
      const graph = frame.contentWindow;
      if (!graph || !graph.search || !graph.frames) continue;
      if (graph.searching) graph.search_prompt();
      if (text) graph.search(pattern);
    }
  }
  let waiting = 0;
  search.addEventListener('input', () => {
    filter();
    clearTimeout(waiting);
    waiting = setTimeout(mark, 200);
  });
  search.addEventListener('keydown', event => {
    if (event.key !== 'Escape' || !search.value) return;
    search.value = '';
    search.dispatchEvent(new Event('input'));
  });
})();
