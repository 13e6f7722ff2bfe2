-- Begins a transaction of the lab's own: to hold rows, to lock them in a circle, to fail.
BEGIN
