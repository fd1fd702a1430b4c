"""Tell installed apps what happened: who wants to know (`endpoints`), what is on its way (`claims`, `settling`), how it is written."""
