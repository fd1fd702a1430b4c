// The back office of a user who is signed in: a resource for each entity whose list the server lets this user read.
import { QueryClient } from "@tanstack/react-query";
import { CoreAdminContext, CoreAdminRoutes, CustomRoutes, localStorageStore, Resource } from "ra-core";
import { lazy, useMemo } from "react";
import { createBrowserRouter, RouterProvider } from "react-router-dom";
import { authProvider, type Session } from "../data/auth";
import { listedEntities, mayAct } from "../data/permissions";
import { dataProvider } from "../data/provider";
import { PAGES, ROUTES } from "../pages";
import { i18nProvider } from "../texts";
import { SessionContext } from "./context";
import { Layout } from "./layout";
import { Waiting } from "./waiting";

const DerivedList = lazy(() => import("../derived/list"));
const DerivedForm = lazy(() => import("../derived/edit"));
const DerivedCreate = lazy(() => import("../derived/create"));
const Home = lazy(() => import("../pages/home"));
const NotFound = lazy(() => import("./not-found"));
const store = localStorageStore("1", "vitrine");

interface Props {
  session: Session;
}

export default function Office({ session }: Props) {
  const router = useMemo(() => createBrowserRouter([{ path: "*", element: <Pages session={session} /> }], { basename: "/admin" }), [session]);
  return <RouterProvider router={router} />;
}

function Pages({ session }: { session: Session }) {
  const queryClient = useMemo(() => new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 5_000 } } }), []);
  return (
    <SessionContext value={session}>
      <CoreAdminContext dataProvider={dataProvider} authProvider={authProvider} i18nProvider={i18nProvider} queryClient={queryClient} store={store}>
        <CoreAdminRoutes layout={Layout} dashboard={Home} catchAll={NotFound} loading={Waiting}>
          {listedEntities().map((name) => {
            const { list: List = DerivedList, edit: Edit = DerivedForm, create: Create = DerivedCreate } = PAGES[name] ?? {};
            return (
              <Resource
                key={name}
                name={name}
                list={<List />}
                edit={<Edit />}
                {...(mayAct("create", name) ? { create: <Create /> } : {})}
              />
            );
          })}
          <CustomRoutes>{ROUTES}</CustomRoutes>
        </CoreAdminRoutes>
      </CoreAdminContext>
    </SessionContext>
  );
}
