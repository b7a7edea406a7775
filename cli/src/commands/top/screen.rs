//! The terminal, and how it becomes what it was: at the end, when something
//! fails, panics, or a signal ends the process.

#[cfg_attr(windows, path = "screen/signals/windows.rs")]
mod signals;

use crate::outcome::Failure;
use ratatui::DefaultTerminal;
use std::io;

/// A terminal that shows our screen; dropped, it shows what it did before.
pub struct Screen {
    pub terminal: DefaultTerminal,
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// When there is none that can be used.
    pub fn open() -> Result<Screen, Failure> {
        let unusable = |error: io::Error| {
            Failure::new(format!("the terminal cannot be used: {error}; try --once"))
        };
        signals::prepare().map_err(unusable)?;
        // Also has panics restore it before they are told.
        let terminal = ratatui::try_init().map_err(unusable)?;
        Ok(Screen { terminal })
    }

    /// Gives the terminal back, stops the process as Ctrl-Z does, and takes it
    /// over again when the shell goes on.
    ///
    /// # Errors
    /// As [`Screen::open`].
    pub fn suspend(&mut self) -> Result<(), Failure> {
        ratatui::restore();
        signals::stop();
        let terminal = ratatui::try_init();
        self.terminal = terminal.map_err(|error| Failure::new(format!("the terminal: {error}")))?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}
