  // Sorting: numbers begin with the largest, names with A; the third click
  // brings the order of the report back. What is not known is always last.
  const tables = all('table.sortable');
  const bodies = tables.flatMap(table => [...table.tBodies]);
  const collator = new Intl.Collator('en', { numeric: true });
  function compare(column, numbers, sign) {
    return (a, b) => {
      const [x, y] = [a.rows[0].cells[column], b.rows[0].cells[column]];
      if (!numbers) return sign * collator.compare(x.textContent, y.textContent);
      const [v, w] = [x.dataset.v, y.dataset.v];
      if (v === undefined || w === undefined) return (v === undefined) - (w === undefined);
      return sign * (v - w);
    };
  }
  // Of long tables so many rows are shown at first, and so many more at a time. The others
  // stay in the page: they are sorted, filtered and copied like all.
  const STEP = 100;
  // On a narrow screen a row is a card, where each value has its column's name.
  function nameCells(body, heads) {
    const cells = body.rows[0].cells;
    if (cells.length < 2 || cells[1].dataset.name) return;
    [...cells].forEach((cell, at) => {
      if (at && heads[at]) cell.dataset.name = heads[at].textContent;
    });
  }
  const stepped = new Map();
  function makeSteps(table) {
    const [line, words, button] = ['p', 'span', 'button'].map(tag => document.createElement(tag));
    line.className = 'none more';
    button.type = 'button';
    button.textContent = 'Show ' + STEP + ' more';
    button.setAttribute('aria-label', button.textContent + ' rows: ' + table.caption.textContent);
    line.append(words, ' ', button);
    table.parentElement.after(line);
    const of = { line, words, limit: STEP, heads: [...table.tHead.rows[0].cells] };
    button.addEventListener('click', () => {
      of.limit += STEP;
      showSteps(table);
      if (line.hidden) table.parentElement.focus({ preventScroll: true });
    });
    stepped.set(table, of);
  }
  function showSteps(table) {
    const of = stepped.get(table);
    if (!of) return;
    let shown = 0;
    for (const body of table.tBodies) {
      if (body.hidden) continue;
      shown += 1;
      const isLater = shown > of.limit;
      body.classList.toggle('later', isLater);
      if (!isLater) nameCells(body, of.heads);
    }
    of.line.hidden = shown <= of.limit;
    of.words.textContent = (shown - of.limit).toLocaleString('en') + ' more rows in this page.';
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
        showSteps(table);
      });
    });
    if (original.length > STEP) makeSteps(table);
    else original.forEach(body => nameCells(body, heads));
  }

  // Copying: the rows that are shown, in their order, with tabs between the cells.
  function tabbed(table) {
    const words = cell => cell.textContent.replace(/\s+/g, ' ').trim();
    const shown = [...table.tBodies].filter(body => !body.hidden);
    const rows = [table.tHead.rows[0], ...shown.map(body => body.rows[0])];
    return rows.map(row => [...row.cells].map(words).join('\t') + '\n').join('');
  }
  for (const table of tables) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.setAttribute('aria-label', 'Copy the table: ' + table.caption.textContent);
    button.addEventListener('click', () => {
      document.addEventListener('copy', event => {
        event.clipboardData.setData('text/plain', tabbed(table));
        event.preventDefault();
        button.textContent = 'Copied';
        setTimeout(() => { button.textContent = 'Copy'; }, 1500);
      }, { once: true, capture: true });
      document.execCommand('copy');
    });
    table.parentElement.before(button);
  }

  // A lock without its kind and its number: `[lock] a.B#7` is `a.B`.
  const plainLock = name => name.replace(/^\[[^\]]*\] /, '').replace(/#\d+/g, '');
  // The worst locks have their colours wherever they are named.
  const colours = new Map(all('.worst th[data-lock]').map(head =>
    [plainLock(head.dataset.lock), head.querySelector('.key').classList[1]]));
  colours.forEach((colour, lock) => { if (colour === 'c-other') colours.delete(lock); });
  for (const table of tables) {
    const columns = [...table.tHead.rows[0].cells].flatMap((head, at) => head.dataset.of === 'lock' ? [at] : []);
    for (const body of table.tBodies) {
      for (const cell of columns.map(at => body.rows[0].cells[at])) {
        const colour = colours.get(plainLock(cell.textContent.trim()));
        if (!colour || cell.querySelector('.key')) continue;
        const key = document.createElement('span');
        key.className = 'key ' + colour;
        const button = cell.querySelector('.open');
        if (button) button.after(key);
        else cell.prepend(key);
      }
    }
  }

  // Rows that open, by their button or by a click anywhere that selects nothing.
  function unfold(body, open) {
    body.classList.toggle('unfolded', open);
    body.querySelector('.open').setAttribute('aria-expanded', open);
  }
  const opening = bodies.filter(body => body.classList.contains('opens'));
  for (const table of tables) {
    table.addEventListener('click', event => {
      const row = event.target.closest('tbody.opens > tr:first-child');
      if (!row || !getSelection().isCollapsed) return;
      unfold(row.parentElement, !row.parentElement.classList.contains('unfolded'));
    });
  }
  const frames = all('.tree .frame');
  const folders = frames.filter(frame => frame.tagName === 'DETAILS');
  const unfoldAll = id('unfold');
  unfoldAll.hidden = opening.length + folders.length === 0;
  unfoldAll.addEventListener('click', () => {
    const open = unfoldAll.getAttribute('aria-pressed') !== 'true';
    unfoldAll.setAttribute('aria-pressed', open);
    unfoldAll.textContent = open ? 'Close all' : 'Open all';
    opening.forEach(body => unfold(body, open));
    folders.forEach(frame => { frame.open = open; });
  });
