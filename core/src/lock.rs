//! The one lock of the core. With `std` it is a mutex; without, a cell, and what holds one stays on its thread.

#[cfg(not(feature = "std"))]
pub(crate) struct Lock<T>(core::cell::RefCell<T>);
#[cfg(feature = "std")]
pub(crate) struct Lock<T>(std::sync::Mutex<T>);

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        #[cfg(not(feature = "std"))]
        return Self(core::cell::RefCell::new(value));
        #[cfg(feature = "std")]
        return Self(std::sync::Mutex::new(value));
    }

    /// Runs `f` on the value. `f` must be short and must not lock again.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        #[cfg(not(feature = "std"))]
        return f(&mut self.0.borrow_mut());
        // A panic while it was held left no half-made change that the next one could not live with.
        #[cfg(feature = "std")]
        return f(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }
}

impl<T: Default> Default for Lock<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}
