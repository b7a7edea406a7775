  // Selecting steps of a picture, by dragging over it or by the arrow keys with Shift.
  // `size` tells how many there are across and down. `tell` is told where pointer or keys
  // are, or null, and `choose` two opposite steps, or null for all of them.
  const spaces = 'http' + '://www.w3.org/2000/svg';
  // A hand that clicks is not quite still.
  const STILL = 4;
  function makeSelection(picture, size, tell, choose) {
    const frame = document.createElementNS(spaces, 'rect');
    frame.setAttribute('class', 'selected');
    let [start, at, anchor, isDrag, shown] = [null, null, null, false, null];
    const within = (value, count) => Math.min(count - 1, Math.max(0, Math.floor(value)));
    function place(event) {
      const box = picture.getBoundingClientRect();
      const [columns, rows] = size();
      return [within((event.clientX - box.left) / box.width * columns, columns),
        within((event.clientY - box.top) / box.height * rows, rows)];
    }
    function draw(ends) {
      if (!ends) {
        frame.remove();
        return;
      }
      const [[a, b], [c, d]] = ends;
      const unit = picture.viewBox.baseVal.height / size()[1];
      const sizes = {
        x: Math.min(a, c), y: Math.min(b, d) * unit, width: Math.abs(a - c) + 1, height: (Math.abs(b - d) + 1) * unit,
      };
      for (const [name, value] of Object.entries(sizes)) frame.setAttribute(name, value);
      picture.append(frame);
    }
    function end() {
      start = null;
      draw(shown);
    }
    picture.classList.add('selectable');
    picture.addEventListener('pointerdown', event => {
      isDrag = false;
      if (event.button || !event.isPrimary) return;
      start = { at: place(event), x: event.clientX, y: event.clientY };
    });
    picture.addEventListener('pointermove', event => {
      at = place(event);
      // Let go elsewhere.
      if (!event.buttons) start = null;
      const isFar = () => Math.hypot(event.clientX - start.x, event.clientY - start.y) > STILL;
      if (start && !isDrag && isFar()) {
        isDrag = true;
        picture.setPointerCapture(event.pointerId);
      }
      if (start && isDrag) draw([start.at, at]);
      tell(at);
    });
    picture.addEventListener('pointerup', event => {
      const from = start;
      end();
      anchor = null;
      if (from && isDrag) choose(from.at, place(event), false);
    });
    picture.addEventListener('pointercancel', end);
    picture.addEventListener('pointerleave', () => {
      if (start && isDrag) return;
      at = null;
      tell(null);
    });
    // What ends a drag is no click on what lies below it.
    picture.addEventListener('click', event => {
      if (isDrag) event.stopPropagation();
      isDrag = false;
    }, true);
    picture.addEventListener('keydown', event => {
      if (event.key === 'Escape') {
        anchor = null;
        if (shown) choose(null, null, false);
        return;
      }
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!step) return;
      event.preventDefault();
      const [columns, rows] = size();
      const from = at || [0, 0];
      // The first key only shows where one is.
      at = at ? [within(from[0] + step[0], columns), within(from[1] + step[1], rows)] : from;
      if (event.shiftKey) {
        const isLonger = Boolean(anchor);
        anchor = anchor || from;
        choose(anchor, at, isLonger);
      } else anchor = null;
      tell(at);
    });
    return {
      // What is chosen, as two opposite steps.
      show(ends) {
        shown = ends;
        draw(ends);
      },
    };
  }
  const isIn = (range, value) => !range || value >= range[0] && value <= range[1];
